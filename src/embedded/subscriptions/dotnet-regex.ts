/** A construct that JavaScript has no counterpart for, or that .NET does not understand either. */
class UnknownRegex extends Error {}

/** Where .NET's `\A`, `\z` and `\Z` hold; JavaScript's own anchors depend on its flags. */
const BEGINNING = '(?<![\\s\\S])';
const END = '(?![\\s\\S])';
const END_OR_LAST_NEWLINE = `(?=\\n?${END})`;

const plainEscapes = new Map([
  ['a', '\\x07'],
  ['e', '\\x1b'],
  ['A', BEGINNING],
  ['z', END],
  ['Z', END_OR_LAST_NEWLINE],
  ...[...'bBdDsSwWtrvfn'].map((each): [string, string] => [each, `\\${each}`]),
]);
const classEscapes = new Map([
  ['a', '\\x07'],
  ['e', '\\x1b'],
  ...[...'bdDsSwWtrvfn'].map((each): [string, string] => [each, `\\${each}`]),
]);
/** Groups that both write alike. */
const GROUPS = /^\(\?(?::|=|!|<=|<!)/;
const NAMED = /^\(\?(?:<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')/;
const CODES = /^\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|[pP]\{[A-Za-z_]+\})/;

/**
 * The regular expression that .NET, and so a real node, understands by `source`. `\w`, `\d` and `\b`
 * know ASCII only.
 * @throws UnknownRegex where JavaScript cannot say the same, SyntaxError for what is no expression
 */
export function fromDotnet(source: string): RegExp {
  const translation = new Translation(source);
  return new RegExp(translation.run(), translation.flags);
}

class Translation {
  flags = 'u';
  private readonly source: string;
  private at = 0;
  private out = '';
  private multiline = false;
  /** The number here of each numbered group there: a group that stands for an atomic one comes in between. */
  private readonly numbers = [0];
  private groups = 0;
  /** What closes each open group. */
  private readonly closing: string[] = [];

  constructor(source: string) {
    this.source = source;
  }

  run(): string {
    while (this.at < this.source.length) this.next();
    if (this.closing.length > 0) throw new UnknownRegex('a group that is not closed');
    return this.out;
  }

  private next(): void {
    const char = this.source[this.at]!;
    if (char === '\\') this.escape();
    else if (char === '(') this.open();
    else if (char === ')') this.put(this.closing.pop() ?? unknown('a ) too many'), 1);
    else if (char === '[') this.characterClass();
    else if (char === '^') this.put(this.multiline ? `(?<=\\n|${BEGINNING})` : '^', 1);
    else if (char === '$') this.put(this.multiline ? `(?=\\n|${END})` : END_OR_LAST_NEWLINE, 1);
    else if (char === '{') this.put(this.take(/^\{\d+(?:,\d*)?\}/) ?? '\\{', this.taken || 1);
    else this.put(char === '}' || char === ']' ? `\\${char}` : char, 1);
  }

  private taken = 0;

  /** What stands here, if it is like this. */
  private take(form: RegExp): string | undefined {
    const found = form.exec(this.source.slice(this.at))?.[0];
    this.taken = found?.length ?? 0;
    return found;
  }

  private put(text: string, consumed: number): void {
    this.out += text;
    this.at += consumed;
  }

  private open(): void {
    const rest = this.source.slice(this.at);
    const comment = /^\(\?#[^)]*\)/.exec(rest);
    const options = /^\(\?([ims]+)\)/.exec(rest);
    const named = NAMED.exec(rest);
    if (comment !== null) this.at += comment[0].length;
    else if (options !== null) this.option(options[1]!, options[0].length);
    else if (rest.startsWith('(?>')) {
      // A lookahead gives nothing back once it has matched, and what it has captured is then matched as it is.
      this.groups++;
      this.closing.push(`))\\${this.groups})`);
      this.put('(?:(?=(', 3);
    } else if (named !== null) {
      this.groups++;
      this.closing.push(')');
      this.put(`(?<${named[1] ?? named[2]}>`, named[0].length);
    } else if (rest.startsWith('(?')) {
      const group = GROUPS.exec(rest)?.[0] ?? unknown(rest.slice(0, 4));
      this.closing.push(')');
      this.put(group, group.length);
    } else {
      this.numbers.push(++this.groups);
      this.closing.push(')');
      this.put('(', 1);
    }
  }

  /** Options hold from where they stand on; here they can only hold for all, so nothing that they change may come before. */
  private option(letters: string, length: number): void {
    if (/[^^]/.test(this.out.replaceAll(BEGINNING, ''))) throw new UnknownRegex('options behind the beginning');
    if (letters.includes('m')) this.multiline = true;
    for (const flag of 'is') if (letters.includes(flag) && !this.flags.includes(flag)) this.flags += flag;
    this.at += length;
  }

  private escape(): void {
    const char = this.source[this.at + 1] ?? unknown('a \\ at the end');
    const known = plainEscapes.get(char);
    const named = /^\\k(?:<(\w+)>|'(\w+)')/.exec(this.source.slice(this.at));
    const code = this.take(CODES);
    if (known !== undefined) this.put(known, 2);
    else if (code !== undefined) this.put(code, code.length);
    else if (named !== null) this.put(`\\k<${named[1] ?? named[2]}>`, named[0].length);
    else if (/[1-9]/.test(char)) {
      const number = this.take(/^\\\d+/)!;
      this.put(`(?:\\${this.numbers[Number(number.slice(1))] ?? unknown(number)})`, number.length);
    } else this.put(literal(char), 2);
  }

  private characterClass(): void {
    this.put('[', 1);
    if (this.source[this.at] === '^') this.put('^', 1);
    if (this.source[this.at] === ']') this.put('\\]', 1);
    for (;;) {
      const char = this.source[this.at] ?? unknown('a class that is not closed');
      if (char === ']') break;
      if (char === '-' && this.source[this.at + 1] === '[') unknown('the subtraction of a class');
      if (char !== '\\') this.put(char, 1);
      else {
        const escaped = this.source[this.at + 1] ?? unknown('a \\ at the end');
        const code = this.take(CODES);
        const known = classEscapes.get(escaped);
        if (known !== undefined) this.put(known, 2);
        else if (code !== undefined) this.put(code, code.length);
        else this.put(literal(escaped), 2);
      }
    }
    this.put(']', 1);
  }
}

/** An escaped character that means itself: none of those that make up words, whose escapes have or may get a meaning. */
function literal(char: string): string {
  if (/\w/.test(char)) unknown(`\\${char}`);
  return /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char === '-' ? '\\x2d' : char;
}

function unknown(what: string): never {
  throw new UnknownRegex(what);
}
