import { fileURLToPath } from 'node:url';

// By the folder above, because these modules also run as a part of `cli/program.js`.
export const workerEntry = new URL('../embedded/worker-entry.mjs', import.meta.url);
export const probeEntry = fileURLToPath(new URL('../embedded/probe-entry.mjs', import.meta.url));
export const maintenanceEntry = fileURLToPath(new URL('../embedded/maintenance-entry.mjs', import.meta.url));
