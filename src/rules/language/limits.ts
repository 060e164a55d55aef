/** All limits of rules and evaluations (contract H). */

/** Unicode code points, as in all lengths on the wire (contract A.1). */
export const maxRuleChars = 4096;
export const maxNodes = 500;
/** Nesting of parentheses, arguments and list items; each link of `a.b[c].d()` counts. */
export const maxDepth = 32;
export const maxListItems = 200;
export const maxCallArguments = 8;
export const maxPatterns = 20;
/** Code points. */
export const maxPatternChars = 512;
export const maxComprehensionNesting = 2;

/** Unspecified: compiled patterns. `\pL{800}` takes 60 ms to prepare (measured). Patterns without counts stay below both. */
export const maxPatternInstructions = 1100;
export const maxRangesPerRule = 100_000;

export const maxErrors = 20;

/** Nodes, multiplied by the enclosing comprehensions. */
export const maxWork = 200_000;
export const maxScanned = 16 * 1024 * 1024;
/** Larger evaluations run in a worker thread. */
export const maxScannedOnLoop = 512 * 1024;
export const maxNanosOnLoop = 40_000_000;
/** Milliseconds of the event loop for all rules of a request; the rest is evaluated in a thread. */
export const maxMillisOnLoop = 20;
/** Text (`lengthOf`) that is converted on the event loop: 64 KiB, or 512 KiB of ASCII. */
export const maxBuiltOnLoop = 64 * 1024;
/** Bytes of a body that is parsed on the event loop: many small values take 20 ms (measured). At least `maxBuiltOnLoop`. */
export const maxParsedOnLoop = 128 * 1024;
/** Limit for an evaluation in a worker thread, and for the wait for a thread. */
export const workerDeadlineMillis = 2000;
