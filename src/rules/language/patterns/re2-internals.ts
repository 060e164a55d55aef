/**
 * Every reach into what `re2js` declares without documenting it: its program, its automaton and its simulation. Nobody else
 * reaches there. A test fails when another version is installed; what to look at then are the classes `RE2` and `DFA` of the
 * package.
 */
import type { RE2JS } from 're2js';

/** The version that all this was checked against. */
export const checkedRe2 = '2.10.0';

/** Kinds of instructions, as far as they are told apart here. */
export const Op = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  emptyWidth: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
} as const;
/** The last kind: `.` but for a line feed. Those above look behind, which no pattern of a rule may do. */
const lastOp = 11;

interface Instruction {
  readonly op: number;
  /** The next instruction; with a fork, one of the two. */
  readonly out: number;
  /** Of a fork the other next one; of a rune, whether its case is folded. */
  readonly arg: number;
  /** Code points, as ranges where it is more than one. */
  readonly runes: ArrayLike<number>;
}

export interface Program {
  readonly start: number;
  readonly inst: readonly Instruction[];
}

/** What a pattern was compiled to; null where it has instructions that are not known here. */
export const programOf = (engine: RE2JS): Program | null => {
  const program = engine.re2().prog as Program;
  return program.inst.every(({ op }) => op <= lastOp) ? program : null;
};

/** Character ranges of all classes in the program. */
export const rangesOf = (engine: RE2JS): number => {
  const { inst } = engine.re2().prog as Program;
  return inst.reduce((sum, { runes }) => sum + runes.length / 2, 0);
};

/** How much the automaton may take in all. */
export const limitMemory = (engine: RE2JS, bytes: number): void => {
  engine.re2().dfa.memBudget = bytes;
};

/** How much of that its states may take; what is full gives up at once where it is 0, and else starts over. */
export const limitStates = (engine: RE2JS, bytes: number): void => {
  engine.re2().dfa.stateBudget = bytes;
};

/** Told before each simulation, by how many characters it goes through; what it throws ends the match. */
export const beforeSimulation = (engine: RE2JS, told: (characters: number) => void): void => {
  const re2 = engine.re2();
  const simulate = re2.doExecuteNFA.bind(re2);
  re2.doExecuteNFA = (input: { endPos(): number }, at: number, ...rest: readonly [unknown, unknown, unknown?]) => {
    told(input.endPos() - at);
    return simulate(input, at, ...rest);
  };
};
