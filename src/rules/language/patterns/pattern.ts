import { RE2JS } from 're2js';
import { checkTime, giveUp, isHurried } from '../overtime.ts';
import { beforeSimulation, limitMemory, limitStates, programOf, rangesOf } from './re2-internals.ts';
import { requiredIn } from './required.ts';

/** Memory of an automaton. Ordinary patterns need 10 to 400 KiB; the default is 8 MiB. Building this much takes at most 30 ms. */
const automatonBytes = 512 * 1024;

/**
 * Instructions times characters of a simulation on the event loop, at 15 to 100 ns a step. The engine simulates for positions of
 * matches, and when the automaton is full.
 */
const mostHurriedSteps = 200_000;

/** Whether patterns of the rule may take tens of milliseconds to compile: large or nested counts, Unicode classes. */
export const isSlowToCompile = (rule: string): boolean =>
  rule.length > 1024 || /\\[pP]|\{\d*,?\d{2,}/.test(rule) || repetitionsIn(rule) > 1000;

/** Upper bound for compiling a rule that is not slow, in steps of some microseconds (measured). */
export const compilingWork = (rule: string): number => rule.length + repetitionsIn(rule);

/** Upper bound for the repetitions by counts in all literals. */
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

/** An RE2 regular expression. A CEL type of its own that only patterns.ts creates. @throws RE2JSException */
export class Pattern {
  readonly instructions: number;
  /** Character ranges in all classes. */
  readonly ranges: number;
  readonly #engine: RE2JS;
  /** Part of every matching text. */
  #required: RegExp | null = null;

  constructor(source: string) {
    const engine = RE2JS.compile(source);
    this.#engine = engine;
    this.instructions = engine.programSize();
    this.ranges = rangesOf(engine);
  }

  /**
   * Prepares the automaton, after its size was checked. An evaluation on the event loop stops before a slow simulation, because
   * calls cannot be interrupted: `[ab]*a[ab]{15}c` takes a second for 512 KiB.
   */
  prepare(): void {
    const program = programOf(this.#engine);
    this.#required = program && requiredIn(program);
    limitMemory(this.#engine, automatonBytes);
    beforeSimulation(this.#engine, (characters) => {
      if (isHurried() && characters * this.instructions > mostHurriedSteps) giveUp();
    });
  }

  test(text: string): boolean {
    checkTime();
    if (this.#required !== null && !this.#required.test(text)) return false;
    // Without room for its states a full automaton gives up instead of starting again.
    limitStates(this.#engine, isHurried() ? 0 : automatonBytes);
    return this.#engine.test(text);
  }

  /** Number of matches. Checks the time, because `a.*b|a` makes each search read to the end. @throws Overtime */
  count(text: string): bigint {
    // The automaton is 20 times as fast as a search for positions.
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
