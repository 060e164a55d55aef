import type { Ours } from '../store/ownership.ts';
import type { EventStore, Recorded } from '../store/store.ts';
import { type Checkpoint, checkpointAfter, endOfLog, type Lasts, whyUnfit } from './checkpoint.ts';

/** The last event of ours from a log, by which the log is recognised after a lost connection. */
export interface LogMark {
  passed(batch: readonly Recorded[]): void;
  /** The connection was lost or replaced, so another log may answer. */
  doubted(): void;
  readonly isDoubted: boolean;
  /** Why another log is there; undefined where it is the same. @throws StoreUnavailable, StoreDamaged */
  whyAnother(): Promise<string | undefined>;
  forget(): void;
}

export const markLog = async (
  store: Pick<EventStore, 'readAll'>,
  log: { readonly logId: string; readonly lasts: Lasts; readonly ours: Ours },
): Promise<LogMark> => {
  let mark: Checkpoint | undefined = await endOfLog(store, log);
  const once: Pick<EventStore, 'readAll'> = { readAll: (options) => store.readAll({ ...options, once: true }) };
  let doubts = 0;
  let settled = 0;
  return {
    passed(batch) {
      const end = batch.at(-1)?.position;
      if (end !== undefined) mark = checkpointAfter(mark, log, log.ours(batch), end);
    },
    doubted() {
      doubts++;
    },
    get isDoubted() {
      return settled < doubts;
    },
    async whyAnother() {
      const asked = doubts;
      const why = mark && (await whyUnfit(mark, once, log.logId, log.lasts));
      settled = Math.max(settled, asked);
      return why;
    },
    forget() {
      mark = undefined;
      settled = doubts;
    },
  };
};
