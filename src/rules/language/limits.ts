/** Every bound on a rule and on one evaluation of it (contract H), in one place so that tests and code read the same. */

/** Characters are Unicode code points here, as in every other length that clients see (contract A.1). */
export const maxRuleChars = 4096;
export const maxNodes = 500;
/** Nesting of the source: parentheses, arguments, list items and each link of an `a.b[c].d()` chain count one. */
export const maxDepth = 32;
export const maxListItems = 200;
export const maxCallArguments = 8;
export const maxPatterns = 20;
/** Code points of one pattern. */
export const maxPatternChars = 512;
export const maxComprehensionNesting = 2;

/**
 * Unspecified: how large a compiled pattern may get. `\pL{800}` is nine characters and takes 60 ms to prepare (measured), so instructions per pattern and character ranges per rule are bounded too. A pattern
 * of 512 characters without counted repetitions stays below both.
 */
export const maxPatternInstructions = 1100;
export const maxRangesPerRule = 100_000;

/** Errors that one compilation reports. */
export const maxErrors = 20;

/** Nodes of the rule times how often a comprehension repeats them. */
export const maxWork = 200_000;
/** UTF-16 code units read by scanning calls, the nearest thing to bytes that JavaScript counts for free. */
export const maxScanned = 16 * 1024 * 1024;
/** Above this many scanned units an evaluation goes to a worker thread. */
export const maxScannedOnLoop = 512 * 1024;
/** Nor does an evaluation stay on the loop that could take longer than this in the worst case (see cost.ts). */
export const maxNanosOnLoop = 40_000_000;
/** What the evaluations of a request may really take on the loop together; what is not done then starts over in a worker thread. */
export const maxMillisOnLoop = 20;
/** How much text (`lengthOf`) is brought into its two copies on the loop: 64 KiB, or 512 KiB of ASCII. */
export const maxBuiltOnLoop = 64 * 1024;
/**
 * Bytes of a body that is parsed on the loop for rules alone: made of very many small values it takes 20 ms on a busy machine
 * (measured). At least `maxBuiltOnLoop`, so that a larger one is judged in a thread without being read.
 */
export const maxParsedOnLoop = 128 * 1024;
/** What an evaluation in a worker thread may take, and how long it may wait for one. */
export const workerDeadlineMillis = 2000;
