import { Op, type Program } from './re2-internals.ts';

/** Shorter literals are in nearly every text. */
const leastLength = 3;
const mostLength = 32;
const mostLiterals = 32;
/** Steps of the analysis; beyond it every text goes to the engine. */
const mostSteps = 20_000;

/** A search for literals of which every match has one; takes a hundredth of the automaton's time. Null without such literals. */
export const requiredIn = (program: Program): RegExp | null => {
  const found = new Search(program).literalsFrom(program.start);
  if (found === null) return null;
  const source = found.map(({ text }) => [...text].map(escaped).join('')).join('|');
  // In Unicode mode K and the long s fold to ASCII letters, as in RE2.
  return new RegExp(source, found.some(({ folds }) => folds) ? 'iu' : 'u');
};

const escaped = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

interface Literal {
  readonly text: string;
  readonly folds: boolean;
}

class Search {
  readonly #program: Program;
  readonly #under = new Set<number>();
  #steps = 0;

  constructor(program: Program) {
    this.#program = program;
  }

  /** Literals of which every path to a match has one; null if there are none or the search takes too long. */
  literalsFrom(start: number): readonly Literal[] | null {
    const best = this.#longestNeeded(start);
    if (best !== null) return [best];
    if (this.#steps > mostSteps) return null;
    const fork = this.#forkAfter(start);
    // A loop leads back to its own fork.
    if (fork === null || this.#under.has(fork)) return null;
    this.#under.add(fork);
    const { out, arg } = this.#program.inst[fork]!;
    const one = this.literalsFrom(out);
    const other = one && this.literalsFrom(arg);
    this.#under.delete(fork);
    return other && one.length + other.length <= mostLiterals ? [...one, ...other] : null;
  }

  /** The longest literal on all paths. */
  #longestNeeded(start: number): Literal | null {
    let best: Literal | null = null;
    for (let at = 0; at < this.#program.inst.length; at += 1) {
      const literal = this.#literalAt(at);
      if (literal.text.length < Math.max(leastLength, (best?.text.length ?? 0) + 1)) continue;
      if (!this.#matchesWithout(start, at)) best = literal;
      if (this.#steps > mostSteps) return null;
    }
    return best;
  }

  /** The ASCII text read from an instruction on until the path forks. */
  #literalAt(start: number): Literal {
    let text = '';
    let folds = false;
    for (let at = start; text.length < mostLength; ) {
      this.#steps += 1;
      const { op, out, arg, runes } = this.#program.inst[at]!;
      const isRune = op === Op.rune || op === Op.rune1;
      if (isRune && runes.length === 1 && runes[0]! < 0x80) {
        text += String.fromCharCode(runes[0]!);
        folds ||= arg !== 0;
      } else if (isRune || text === '' || (op !== Op.nop && op !== Op.capture && op !== Op.emptyWidth)) {
        break;
      }
      at = out;
    }
    return { text, folds };
  }

  #forkAfter(start: number): number | null {
    for (let at = start; ; ) {
      this.#steps += 1;
      const { op, out } = this.#program.inst[at]!;
      if (op === Op.alt || op === Op.altMatch) return at;
      if (op === Op.match || op === Op.fail) return null;
      at = out;
    }
  }

  #matchesWithout(start: number, without: number): boolean {
    const seen = new Uint8Array(this.#program.inst.length);
    seen[without] = 1;
    const open = [start];
    while (open.length > 0) {
      const at = open.pop()!;
      if (seen[at] === 1) continue;
      seen[at] = 1;
      this.#steps += 1;
      const { op, out, arg } = this.#program.inst[at]!;
      if (op === Op.match) return true;
      if (op === Op.fail) continue;
      if (op === Op.alt || op === Op.altMatch) open.push(arg);
      open.push(out);
    }
    return false;
  }
}
