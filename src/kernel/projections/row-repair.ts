import { publish } from '../../telemetry.ts';
import { isBefore, type KeptCheckpoint } from '../followers/checkpoint.ts';
import type { DiskSpace } from '../rows/disk-space.ts';
import type { RowReader, RowStore } from '../rows/rows.ts';
import type { EventStore, Recorded, Subscription } from '../store/store.ts';
import type { Follower, Step } from './row-followers.ts';
import { rowWriter } from './row-writer.ts';

/** Rows of one transaction: requests wait while it is put together. */
const maxRows = 1_000;

export interface RepairOptions {
  readonly store: Pick<EventStore, 'subscribe'>;
  readonly rows: RowStore<KeptCheckpoint>;
  readonly disk: DiskSpace;
  /** Runs one task after the other, those of the followers that go on too. */
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>;
  readonly stepOf: (follower: Follower, batch: readonly Recorded[], stored: Pick<RowReader, 'get'>) => Step;
  /** Of the last event of ours that has come to the followers that go on. */
  readonly position: () => bigint | null;
  /** It has all that the others have, in the file, and goes on with them. */
  readonly met: (follower: Follower) => void;
  /** It does not go on. */
  readonly stopped: (follower: Follower, error: Error, at?: Recorded) => void;
  readonly failed: (error: Error) => void;
}

/** Makes the rows of one follower from where it is, beside the others, until it has met them. The returned function ends that. */
export const repair = (follower: Follower, options: RepairOptions): (() => Promise<void>) => {
  const { store, rows, disk, inTurn, stepOf, position, met } = options;
  const { get, gather, loaded } = rowWriter(rows, disk, [follower], maxRows);
  const began = performance.now();
  let events = 0;
  let isOver = false;
  const stop = (error: Error, at?: Recorded): void => {
    isOver = true;
    options.stopped(follower, error, at);
  };
  const meet = async (): Promise<void> => {
    if (isOver || isBefore(follower.position, position()) || !(await loaded())) return;
    const { checkpoint } = follower;
    if (checkpoint) {
      const { isApart: _, ...mark } = checkpoint;
      const marks = new Map([[follower.projection.name, mark]]);
      if (!(await disk.write(() => rows.write(new Map(), marks)))) return;
      follower.checkpoint = mark;
    }
    isOver = true;
    const seconds = Math.round((performance.now() - began) / 1000);
    publish('rows.remade', { projection: follower.projection.name, events, seconds });
    met(follower);
    // Not from within a batch of its own.
    void subscription.close();
  };
  const apply = async (batch: readonly Recorded[]): Promise<void> => {
    if (isOver) return;
    const step = stepOf(follower, batch, { get });
    // It has come upon damage again: whoever is told begins anew.
    if (follower.apart === 'damaged') return;
    if (!(await gather([step]))) return;
    follower.position = step.position;
    follower.checkpoint = step.checkpoint;
    events += batch.length;
    if (step.failure) return stop(step.failure.error, step.failure.event);
    await meet();
  };
  const subscription: Subscription = store.subscribe({
    after: follower.position,
    deliver: (batch) => inTurn(() => apply(batch)),
    // Where nothing is behind it, nothing comes.
    caughtUp: () => void inTurn(meet).catch(options.failed),
    failed(error) {
      if (!isOver) stop(error);
    },
  });
  return async () => {
    isOver = true;
    await subscription.close();
  };
};
