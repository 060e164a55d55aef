/**
 * Where the thread that evaluates rules begins. By the folder above: this module also runs as a part of `cli/program.js`, a
 * folder beside this one.
 */
export const workerEntry = new URL('../rules/worker-entry.mjs', import.meta.url);
