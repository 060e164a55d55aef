/** `../data/` although this file is in it: bundled, it lies in `dist/src/cli/`. */
export const largeEntry = new URL('../data/large/worker-entry.mjs', import.meta.url);
