/** All uses of undocumented parts of `re2js`. A test fails for other versions; check its classes `RE2` and `DFA` then. */
import type { RE2JS } from 're2js';

export const checkedRe2 = '2.10.0';

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
/** The last kind, `.` without line feed. Kinds above look behind, which rules do not allow. */
const lastOp = 11;

interface Instruction {
  readonly op: number;
  /** The next instruction; of a fork, one of two. */
  readonly out: number;
  /** Of a fork, the other one; of a rune, whether case is ignored. */
  readonly arg: number;
  /** Code points; ranges if more than one. */
  readonly runes: ArrayLike<number>;
}

export interface Program {
  readonly start: number;
  readonly inst: readonly Instruction[];
}

/** The compiled program; null for unknown instructions. */
export const programOf = (engine: RE2JS): Program | null => {
  const program = engine.re2().prog as Program;
  return program.inst.every(({ op }) => op <= lastOp) ? program : null;
};

/** Character ranges in all classes. */
export const rangesOf = (engine: RE2JS): number => {
  const { inst } = engine.re2().prog as Program;
  return inst.reduce((sum, { runes }) => sum + runes.length / 2, 0);
};

export const limitMemory = (engine: RE2JS, bytes: number): void => {
  engine.re2().dfa.memBudget = bytes;
};

/** Memory for states: when it is full, the automaton gives up (0) or starts again. */
export const limitStates = (engine: RE2JS, bytes: number): void => {
  engine.re2().dfa.stateBudget = bytes;
};

/** Calls `told` before each simulation with the number of characters; its errors end the match. */
export const beforeSimulation = (engine: RE2JS, told: (characters: number) => void): void => {
  const re2 = engine.re2();
  const simulate = re2.doExecuteNFA.bind(re2);
  re2.doExecuteNFA = (input: { endPos(): number }, at: number, ...rest: readonly [unknown, unknown, unknown?]) => {
    told(input.endPos() - at);
    return simulate(input, at, ...rest);
  };
};
