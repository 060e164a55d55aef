/** By the folder above, because this module also runs in `cli/program.js`, a folder beside this one. */
export const largeEntry = new URL('../data/large/worker-entry.mjs', import.meta.url);
