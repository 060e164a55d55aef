import { fileURLToPath } from 'node:url';

/**
 * Where threads and child processes of the store begin. By the folder above: these modules also run as a part of
 * `cli/program.js`, a folder beside this one.
 */
export const workerEntry = new URL('../embedded/worker-entry.mjs', import.meta.url);
export const probeEntry = fileURLToPath(new URL('../embedded/probe-entry.mjs', import.meta.url));
export const maintenanceEntry = fileURLToPath(new URL('../embedded/maintenance-entry.mjs', import.meta.url));
