import { publish } from '../../telemetry.ts';
import type { Recorded } from './store.ts';

/** Whose an event is: ours, somebody else's, or somebody else's in a place that looks like one of ours. */
export type Whose = (event: Recorded) => 'ours' | 'like-ours' | 'foreign';

/** The events of a batch that are ours; the others are passed over (contract K.3). */
export type Ours = (batch: readonly Recorded[]) => readonly Recorded[];

/** So many streams are warned of, each once; the next ones are passed over all the same. */
const maxWarned = 1_000;

/** One for all followers of a log, so that a stream is warned of once. */
export const oursOf = (whose: Whose): Ours => {
  const warned = new Set<string>();
  /** One batch is handed to every follower. */
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
