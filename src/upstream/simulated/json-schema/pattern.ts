/**
 * A regular expression as a tree: the part of ECMAScript's that can be matched in polynomial time and made up strings
 * for. The host's engine must not see patterns of clients: `^(a+)+$` takes it seconds on 28 characters.
 */
export type Pattern =
  | { readonly kind: 'chars'; readonly ranges: readonly Range[]; readonly negated: boolean }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly part: Pattern; readonly least: number; readonly most: number }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' };

/** Code points from the first to the second, both included. */
export type Range = readonly [number, number];

const longestPattern = 1000;
const digit: readonly Range[] = [[48, 57]];
const word: readonly Range[] = [...digit, [65, 90], [95, 95], [97, 122]];
const space: readonly Range[] = [
  [9, 13],
  [32, 32],
  [160, 160],
];
const lineEnds: readonly Range[] = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];
const last = 0x10ffff;

/** Null for what is not known here: assertions, back references, properties, flags, and what is no pattern at all. */
export const parsePattern = (source: string): Pattern | null => {
  if (source.length > longestPattern) return null;
  const parser = new Parser(source);
  try {
    return parser.parse();
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
};

class Unsupported extends Error {}

class Parser {
  readonly #points: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#points = Array.from(source);
  }

  parse(): Pattern {
    const pattern = this.#choice();
    if (this.#at < this.#points.length) throw new Unsupported();
    return pattern;
  }

  #peek(): string | undefined {
    return this.#points[this.#at];
  }

  #take(): string {
    const point = this.#points[this.#at];
    if (point === undefined) throw new Unsupported();
    this.#at += 1;
    return point;
  }

  #skip(text: string): boolean {
    if (this.#points.slice(this.#at, this.#at + text.length).join('') !== text) return false;
    this.#at += text.length;
    return true;
  }

  #choice(): Pattern {
    const options = [this.#sequence()];
    while (this.#skip('|')) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { kind: 'choice', options };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      parts.push(this.#repeated(this.#atom()));
    }
    return parts.length === 1 ? parts[0]! : { kind: 'sequence', parts };
  }

  #repeated(part: Pattern): Pattern {
    const bounds = this.#quantifier();
    if (bounds === null) return part;
    this.#skip('?');
    return { kind: 'repeat', part, least: bounds[0], most: bounds[1] };
  }

  #quantifier(): Range | null {
    if (this.#skip('*')) return [0, Infinity];
    if (this.#skip('+')) return [1, Infinity];
    if (this.#skip('?')) return [0, 1];
    if (this.#peek() !== '{') return null;
    const found = /^\{(\d{1,6})(?:(,)(\d{1,6})?)?\}/.exec(this.#points.slice(this.#at, this.#at + 16).join(''));
    if (found === null) throw new Unsupported();
    this.#at += found[0].length;
    const least = Number(found[1]);
    const most = found[2] === undefined ? least : found[3] === undefined ? Infinity : Number(found[3]);
    if (most < least) throw new Unsupported();
    return [least, most];
  }

  #atom(): Pattern {
    const point = this.#take();
    switch (point) {
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '.':
        return { kind: 'chars', ranges: lineEnds, negated: true };
      case '[':
        return this.#class();
      case '(':
        return this.#group();
      case '\\':
        return { kind: 'chars', ranges: this.#escape(), negated: false };
      case '*':
      case '+':
      case '?':
      case '{':
        throw new Unsupported();
      default:
        return { kind: 'chars', ranges: [rangeOf(point)], negated: false };
    }
  }

  #group(): Pattern {
    if (this.#skip('?') && !this.#skip(':')) {
      if (!this.#skip('<') || this.#peek() === '=' || this.#peek() === '!') throw new Unsupported();
      while (this.#take() !== '>');
    }
    const inner = this.#choice();
    if (this.#take() !== ')') throw new Unsupported();
    return inner;
  }

  #class(): Pattern {
    const negated = this.#skip('^');
    const ranges: Range[] = [];
    while (!this.#skip(']')) {
      const from = this.#member();
      if (
        this.#peek() === '-' &&
        this.#points[this.#at + 1] !== ']' &&
        from.length === 1 &&
        from[0]![0] === from[0]![1]
      ) {
        this.#take();
        const to = this.#member();
        if (to.length !== 1 || to[0]![0] !== to[0]![1] || to[0]![0] < from[0]![0]) throw new Unsupported();
        ranges.push([from[0]![0], to[0]![0]]);
      } else ranges.push(...from);
    }
    return { kind: 'chars', ranges, negated };
  }

  #member(): readonly Range[] {
    const point = this.#take();
    return point === '\\' ? this.#escape() : [rangeOf(point)];
  }

  #escape(): readonly Range[] {
    const point = this.#take();
    const named = escapes[point];
    if (named !== undefined) return named;
    if (point === 'x') return [this.#hex(2)];
    if (point === 'u') return [this.#hex(4)];
    // A letter or digit with a meaning of its own that is not in the table: \b, \B, \k, \p, \1.
    if (/[A-Za-z0-9]/.test(point)) throw new Unsupported();
    return [rangeOf(point)];
  }

  #hex(length: number): Range {
    const digits = this.#points.slice(this.#at, this.#at + length).join('');
    if (digits.length !== length || !/^[0-9A-Fa-f]+$/.test(digits)) throw new Unsupported();
    this.#at += length;
    const value = Number.parseInt(digits, 16);
    if (value >= 0xd800 && value <= 0xdfff) throw new Unsupported();
    return [value, value];
  }
}

const rangeOf = (point: string): Range => {
  const code = point.codePointAt(0)!;
  return [code, code];
};

const inverted = (ranges: readonly Range[]): readonly Range[] => {
  const gaps: Range[] = [];
  let from = 0;
  for (const [low, high] of ranges) {
    if (low > from) gaps.push([from, low - 1]);
    from = high + 1;
  }
  return [...gaps, [from, last]];
};

const escapes: Readonly<Record<string, readonly Range[]>> = {
  d: digit,
  D: inverted(digit),
  w: word,
  W: inverted(word),
  s: space,
  S: inverted(space),
  n: [[10, 10]],
  r: [[13, 13]],
  t: [[9, 9]],
  f: [[12, 12]],
  v: [[11, 11]],
  0: [[0, 0]],
};
