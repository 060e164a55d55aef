import { RE2JS } from 're2js';
import { checkTime, giveUp, isHurried } from '../overtime.ts';
import { beforeSimulation, limitMemory, limitStates, programOf, rangesOf } from './re2-internals.ts';
import { requiredIn } from './required.ts';

/**
 * The automaton that the engine builds while it matches. Ordinary patterns need 10 to 400 KiB; the engine's default
 * would be 8 MiB for each. Building this much takes 30 ms at the worst.
 */
const automatonBytes = 512 * 1024;

/**
 * Instructions times characters that a simulation may go through on the event loop. The engine simulates, at 15 to
 * 100 ns a step, where the automaton gets too large for its memory or does not say enough, as for positions of matches.
 */
const mostHurriedSteps = 200_000;

/** Whether a rule may have patterns that take tens of milliseconds to compile: counts of two digits or of counts, classes of Unicode. */
export const isSlowToCompile = (rule: string): boolean =>
  rule.length > 1024 || /\\[pP]|\{\d*,?\d{2,}/.test(rule) || repetitionsIn(rule) > 1000;

/** What it takes to compile a rule at the worst that is not slow, in steps of some microseconds (measured). */
export const compilingWork = (rule: string): number => rule.length + repetitionsIn(rule);

/** How often counts may repeat what they count, in all literals, as if each count were of the one before. */
const repetitionsIn = (rule: string): number => {
  if (!rule.includes('{')) return 0;
  let all = 0;
  for (const literal of rule.split(/["']/)) {
    let times = 1;
    for (const [, least = '', most = ''] of literal.matchAll(/\{(\d*)(?:,(\d*))?\}/g)) {
      times *= Math.max(1, Number(least), Number(most));
    }
    if (times > 1) all += times;
  }
  return all;
};

/**
 * A regular expression in RE2 syntax, matched in time linear in the text. It is a CEL type of its own that no
 * expression can produce: patterns.ts puts it in the place of a literal, so a rule has no other patterns.
 * @throws RE2JSException on a faulty pattern
 */
export class Pattern {
  /** Instructions of the compiled program. */
  readonly instructions: number;
  /** Character ranges of all classes in the program. */
  readonly ranges: number;
  readonly #engine: RE2JS;
  /** What is in every text that matches; most do not have it. */
  #required: RegExp | null = null;

  constructor(source: string) {
    const engine = RE2JS.compile(source);
    this.#engine = engine;
    this.instructions = engine.programSize();
    this.ranges = rangesOf(engine);
  }

  /**
   * Readies the automaton; apart from the constructor, so that the size can be judged first. A hurried evaluation stops
   * where a slow simulation would start: a call cannot be interrupted, and `[ab]*a[ab]{15}c` takes a second for 512 KiB.
   */
  prepare(): void {
    const program = programOf(this.#engine);
    this.#required = program && requiredIn(program);
    limitMemory(this.#engine, automatonBytes);
    beforeSimulation(this.#engine, (characters) => {
      if (isHurried() && characters * this.instructions > mostHurriedSteps) giveUp();
    });
  }

  /** Whether any part of `text` matches. @throws Overtime */
  test(text: string): boolean {
    checkTime();
    if (this.#required !== null && !this.#required.test(text)) return false;
    // With nothing to go back to when it is full, the automaton gives up at once instead of starting over and over.
    limitStates(this.#engine, isHurried() ? 0 : automatonBytes);
    return this.#engine.test(text);
  }

  /**
   * How many matches there are, from left to right and without overlap. Each search is linear, but `a.*b|a` makes every
   * one of many searches read to the end: hence the look at the clock between them. @throws Overtime
   */
  count(text: string): bigint {
    // Only the yes-or-no question runs on the automaton, 20 times faster than a search for positions; most texts end here.
    if (!this.test(text)) return 0n;
    const matcher = this.#engine.matcher(text);
    let found = 0;
    while (matcher.find()) {
      found += 1;
      checkTime();
    }
    return BigInt(found);
  }
}
