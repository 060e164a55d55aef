import { publish } from '../../telemetry.ts';
import { isBefore, type KeptCheckpoint } from '../followers/checkpoint.ts';
import type { DiskSpace } from '../rows/disk-space.ts';
import type { RowStore } from '../rows/rows.ts';
import type { Ours } from '../store/ownership.ts';
import type { EventStore, Recorded, Subscription } from '../store/store.ts';
import type { LogApplier } from './apply-log.ts';
import type { Follower } from './row-followers.ts';
import { RowWriter } from './row-writer.ts';

/** Per transaction, during which requests wait. */
const maxRows = 1_000;

export interface RepairOptions {
  readonly store: Pick<EventStore, 'subscribe'>;
  readonly rows: RowStore<KeptCheckpoint>;
  readonly disk: DiskSpace;
  readonly inTurn: <T>(task: () => Promise<T>) => Promise<T>;
  readonly ours: Ours;
  readonly applier: Pick<LogApplier, 'step' | 'lastOfOurs'>;
  /** Called when the follower has caught up with the others, in the file too. */
  readonly met: () => void;
  readonly halt: (follower: Follower, error: Error, at?: Recorded) => void;
  readonly failed: (error: Error) => void;
}

/** Rebuilds one follower's rows beside the others until it has caught up. The returned function ends that. */
export const repair = (follower: Follower, options: RepairOptions): (() => Promise<void>) => {
  const { store, rows, disk, inTurn, ours, applier } = options;
  const writer = new RowWriter(rows, disk, [follower], maxRows);
  const began = performance.now();
  let events = 0;
  let isOver = false;
  const stop = (error: Error, at?: Recorded): void => {
    isOver = true;
    options.halt(follower, error, at);
  };
  const meet = async (): Promise<void> => {
    if (isOver || isBefore(follower.position, applier.lastOfOurs) || !(await writer.loaded())) return;
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
    options.met();
    // Without await: this runs within a batch of the subscription.
    void subscription.close();
  };
  const apply = async (batch: readonly Recorded[]): Promise<void> => {
    if (isOver) return;
    const step = applier.step(follower, ours(batch), batch.at(-1)!.position, writer);
    if (follower.repair === 'damaged') return;
    if (!(await writer.load([step]))) return;
    follower.position = step.position;
    follower.checkpoint = step.checkpoint;
    events += batch.length;
    if (step.failure) return stop(step.failure.error, step.failure.event);
    await meet();
  };
  const subscription: Subscription = store.subscribe({
    after: follower.position,
    deliver: (batch) => inTurn(() => apply(batch)),
    // Without further events no batch would come.
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
