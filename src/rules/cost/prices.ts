/**
 * What things cost in the worst case, in nanoseconds, for the decision whether an evaluation may run on the event loop
 * (cost.ts). Measured on Node 20 with cel-js 8.0.0 and re2js 2.10.0, by texts made to be slow.
 */

export const perNode = 100;
/** A step of a comprehension sets the variable and checks its type. */
export const perStep = 300;
/** An operation that fails inside `||` or `exists` is only put aside, but building its error takes time. */
export const perFailure = 15_000;
/** One character on the automaton of a pattern, whatever the pattern: 10 to 60 ns, the more classes of characters the more. */
export const perMatched = 60;
/**
 * One character of a needle for one of the text. The host's substring search compares a periodic needle again at every
 * place: 512 KiB of `a` take 0.47 s for 4000 characters of `aa…b…aa`. Short needles do not get there.
 */
export const perPair = 0.25;
export const perZonedGetter = 10_000;
