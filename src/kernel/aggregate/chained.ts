import { type Hashed, ordered } from '../store/event-hash.ts';
import type { NewEvent } from '../store/store.ts';
import { prevOf } from './fold.ts';

export interface StreamEnd {
  readonly revision: number | null;
  readonly last: Hashed | null;
}

export const noStream: StreamEnd = { revision: null, last: null };

/** The events as they follow the end of the stream, each with the hash of the one before it as `prev`. */
export const chained = (
  stream: string,
  { revision, last }: StreamEnd,
  events: readonly NewEvent[],
): (NewEvent & Hashed)[] => {
  let before = last;
  return events.map((event, index) => {
    // The data keeps its order of members, so that a stored answer is repeated byte for byte.
    const { id, type, data } = event;
    const metadata = ordered({ ...event.metadata, ...prevOf(before) });
    const next = { stream, revision: (revision ?? -1) + 1 + index, id, type, data, metadata };
    before = next;
    return next;
  });
};
