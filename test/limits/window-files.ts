import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { countRequest } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { SnapshotFiles } from '../../src/limits/snapshot/snapshot-files.ts';
import { limitSubject, type WindowStore, type WindowStoreOptions } from '../../src/limits/window/window-store.ts';

/** The folder of the present test; it goes away with it. */
export const at = { dir: '' };
const opened: SnapshotFiles[] = [];
beforeEach(() => {
  at.dir = mkdtempSync(join(tmpdir(), 'weir-windows-'));
});
afterEach(async () => {
  rmSync(at.dir, { recursive: true, force: true });
  // Processes that have ended leave no file open.
  for (const files of opened.splice(0)) await files.close().catch(() => {});
});

export const clock = { at: 1_000, wall: () => 1_790_000_000_000 + clock.at, monotonic: () => clock.at };

export const windows = (owner = 'log_1', options: Pick<WindowStoreOptions, 'report'> = {}): WindowStore =>
  inferenceWindows({ owner, tierOf: () => 5, ...options });

export const open = async (store: WindowStore, options: { fresh?: boolean; longestBytes?: number } = {}) => {
  const found = await SnapshotFiles.open({ dir: at.dir, family: 'inference', store, clock, fresh: false, ...options });
  opened.push(found.files);
  return found;
};

export const attempt = (store: WindowStore, key: number, times = 1): void => {
  for (let n = 0; n < times; n++) countRequest(store, limitSubject(`key_${key}`, 'proj', 'org'), clock.monotonic());
};

/** Requests of the day. */
export const seen = (store: WindowStore, key: number): number =>
  inspect(store, 'key', `key_${key}`, clock.monotonic())?.windows[1]?.used ?? 0;
