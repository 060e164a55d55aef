/**
 * Where the thread that reads large bodies begins. By the folder above: this module also runs as a part of `cli/program.js`, a
 * folder beside this one.
 */
export const largeEntry = new URL('../inference/large/worker-entry.mjs', import.meta.url);
