// Worst-case nanoseconds, measured on Node 20 with cel-js 8.0.0 and re2js 2.10.0 on texts made to be slow.

export const perNode = 100;
/** Sets a comprehension's variable and checks its type. */
export const perStep = 300;
/** `||` and `exists` ignore errors of operands, but building an error takes time. */
export const perFailure = 15_000;
/** One character in the automaton: 10 to 60 ns, depending on the character classes. */
export const perMatched = 60;
/**
 * One character of the needle per character of the text. V8's substring search compares periodic needles at every place: 512 KiB
 * of `a` take 0.47 s for 4,000 characters of `aa…b…aa`.
 */
export const perPair = 0.25;
export const perZonedGetter = 10_000;
