import type { Clock, Millis } from '../clock.ts';
import type { SnapshotFiles } from './snapshot/snapshot-files.ts';
import { RecordSweep, sweepTickets } from './sweep.ts';
import type { WindowStore } from './window/window-store.ts';

export interface UpkeepOptions {
  readonly kept: readonly { readonly store: WindowStore; readonly files: SnapshotFiles }[];
  readonly clock: Clock;
  /** From the headers to the last byte of the answer. */
  readonly longestRequestMs: Millis;
  /** Called once when saving fails, until it succeeds again. */
  readonly unsaved: (error: unknown) => void;
}

const everyMs = 1000;

/** Once a second: saves changes, frees empty records and ends forgotten tickets. @returns ends it after a last save */
export const upkeep = ({ kept, clock, longestRequestMs, unsaved }: UpkeepOptions): (() => Promise<void>) => {
  let running: Promise<void> | null = null;
  const failing = new Set<SnapshotFiles>();
  const save = async (): Promise<void> => {
    for (const { files } of kept) {
      try {
        await files.save();
        failing.delete(files);
      } catch (error) {
        if (!failing.has(files)) unsaved(error);
        failing.add(files);
      }
    }
  };
  const swept = kept.map(({ store }) => ({ store, records: new RecordSweep(store) }));
  const timer = setInterval(() => {
    for (const { store, records } of swept) {
      sweepTickets(store, longestRequestMs, clock.monotonic());
      records.sweep(clock.monotonic());
    }
    running ??= save().finally(() => {
      running = null;
    });
  }, everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
    for (const { files } of kept) await files.close().catch(unsaved);
  };
};
