import type { EventStore, Recorded } from './store.ts';

/** Events that one read of a follower takes at most. */
const pageSize = 1_000;

export interface LogPage {
  /** In order; the store's own are not among them. */
  readonly events: readonly Recorded[];
  /** There was nothing behind it when it was read. */
  readonly isLast: boolean;
}

/** What follows a position in the global order, null being before the first event. */
export const readPage = async (store: Pick<EventStore, 'readAll'>, after: bigint | null): Promise<LogPage> => {
  const events: Recorded[] = [];
  let came = 0;
  // One more than the page: the event at the position itself comes again.
  const limit = pageSize + 1;
  for await (const event of store.readAll({ from: after ?? 'start', direction: 'forwards', limit })) {
    came++;
    if (after === null || event.position > after) events.push(event);
  }
  return { events, isLast: came < limit };
};
