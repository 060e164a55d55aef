import { replaceLiteral } from '../cel-internals.ts';
import { maxPatternChars, maxPatternInstructions, maxPatterns, maxRangesPerRule } from '../limits.ts';
import type { Node } from '../tree.ts';
import { Pattern } from './pattern.ts';

/** Compiles the patterns of one rule and replaces their literals. */
export class Patterns {
  readonly #all: Pattern[] = [];
  #ranges = 0;
  #calls = 0;

  get count(): number {
    return this.#all.length;
  }

  /** @returns why the pattern is refused, or null */
  bind(literal: Node | undefined): string | null {
    this.#calls += 1;
    if (this.#calls > maxPatterns) return `A rule has at most ${maxPatterns} patterns.`;
    if (literal?.op !== 'value' || typeof literal.args !== 'string') return 'A pattern is a string literal.';
    if ([...literal.args].length > maxPatternChars) return `A pattern has at most ${maxPatternChars} characters.`;
    // After a pattern that is too large no further ones are compiled.
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
