import type { EventStore, Recorded } from './store.ts';

const pageSize = 1_000;

export interface LogPage {
  /** In order, without the store's own. */
  readonly events: readonly Recorded[];
  /** Nothing was behind it when it was read. */
  readonly isLast: boolean;
}

export const readPage = async (store: Pick<EventStore, 'readAll'>, after: bigint | null): Promise<LogPage> => {
  const events: Recorded[] = [];
  let came = 0;
  // One more, because the event at the position itself comes again.
  const limit = pageSize + 1;
  for await (const event of store.readAll({ from: after ?? 'start', direction: 'forwards', limit })) {
    came++;
    if (after === null || event.position > after) events.push(event);
  }
  return { events, isLast: came < limit };
};
