import { replaceLiteral } from '../cel-internals.ts';
import { maxPatternChars, maxPatternInstructions, maxPatterns, maxRangesPerRule } from '../limits.ts';
import type { Node } from '../tree.ts';
import { Pattern } from './pattern.ts';

/** Compiles the patterns of one rule and puts each in the place of its literal. */
export class Patterns {
  readonly #all: Pattern[] = [];
  #ranges = 0;
  #calls = 0;

  get count(): number {
    return this.#all.length;
  }

  /** Returns why the pattern is refused, else null. */
  bind(literal: Node | undefined): string | null {
    this.#calls += 1;
    if (this.#calls > maxPatterns) return `A rule has at most ${maxPatterns} patterns.`;
    if (literal?.op !== 'value' || typeof literal.args !== 'string') return 'A pattern is a string literal.';
    if ([...literal.args].length > maxPatternChars) return `A pattern has at most ${maxPatternChars} characters.`;
    // What is refused as too large has been paid for: what follows it in the rule is not compiled any more.
    if (this.#ranges > maxRangesPerRule) return 'The patterns of this rule are too large together.';
    try {
      const pattern = new Pattern(literal.args);
      if (pattern.instructions > maxPatternInstructions) {
        this.#ranges = Number.POSITIVE_INFINITY;
        return 'The pattern is too large; counted repetitions multiply.';
      }
      this.#ranges += pattern.ranges;
      if (this.#ranges > maxRangesPerRule) return 'The patterns of this rule are too large together.';
      pattern.prepare();
      this.#all.push(pattern);
      replaceLiteral(literal, pattern);
      return null;
    } catch (error) {
      return error instanceof Error ? `The pattern is not valid: ${error.message}` : 'The pattern is not valid.';
    }
  }
}
