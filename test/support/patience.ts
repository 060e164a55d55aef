import { vi } from 'vitest';

/**
 * What other threads, processes or disks bring about is waited for as long as a busy machine needs, not the usual second.
 * `expect.poll` has its patience from the configuration; vitest has none there for these two.
 */
const patienceMs = 20_000;
const { waitFor, waitUntil } = vi;
vi.waitFor = (condition, options = patienceMs) => waitFor(condition, options);
vi.waitUntil = (condition, options = patienceMs) => waitUntil(condition, options);
