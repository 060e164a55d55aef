// By the folder above, because this module also runs as a part of `cli/program.js`.
export const workerEntry = new URL('../rules/worker-entry.mjs', import.meta.url);
