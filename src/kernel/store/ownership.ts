import { publish } from '../../telemetry.ts';
import type { Recorded } from './store.ts';

/** Whether an event is ours, foreign, or foreign on a stream that looks like ours. */
export type Whose = (event: Recorded) => 'ours' | 'like-ours' | 'foreign';

/** The events of a batch that are ours (contract K.3). */
export type Ours = (batch: readonly Recorded[]) => readonly Recorded[];

/** Streams that are warned of, once each. */
const maxWarned = 1_000;

/** Shared by all followers of a log, so that each stream is warned of once. */
export const oursOf = (whose: Whose): Ours => {
  const warned = new Set<string>();
  // Every follower gets the same batch.
  const known = new WeakMap<readonly Recorded[], readonly Recorded[]>();
  const oursIn = (batch: readonly Recorded[]): readonly Recorded[] =>
    batch.filter((event) => {
      const is = whose(event);
      if (is === 'like-ours' && warned.size < maxWarned && !warned.has(event.stream)) {
        warned.add(event.stream);
        publish('stream.passed_over', { stream: event.stream, type: event.type });
      }
      return is === 'ours';
    });
  return (batch) => {
    const mine = known.get(batch) ?? oursIn(batch);
    known.set(batch, mine);
    return mine;
  };
};
