import type { Millis } from '../../clock.ts';
import { day } from '../../domain/usage/day.ts';
import { type Settlement, settlementsOf, usageStream } from '../../domain/usage/usage-events.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';

type Store = Pick<EventStore, 'read'>;

const dayMs = 24 * 60 * 60_000;
/** A few megabytes. */
const inPage = 16;

/** By binary search: a busy day has a hundred thousand events. */
const lengthOf = async (store: Store, stream: string): Promise<number> => {
  const isThere = async (revision: number): Promise<boolean> => {
    for await (const _ of store.read(stream, { from: revision, limit: 1 })) return true;
    return false;
  };
  let known = 0;
  let most = 1;
  while (await isThere(most - 1)) {
    known = most;
    most *= 2;
  }
  while (most - known > 1) {
    const middle = (known + most) >> 1;
    if (await isThere(middle - 1)) known = middle;
    else most = middle;
  }
  return known;
};

/** Settled between the two moments, a list for each event, newest first. */
export async function* latestSettlements(
  store: Store,
  from: Millis,
  to: Millis,
): AsyncGenerator<readonly Settlement[]> {
  for (let at = to; day(at) >= day(from); at -= dayMs) {
    const stream = usageStream(at);
    for (let end = await lengthOf(store, stream); end > 0; end -= inPage) {
      const first = Math.max(0, end - inPage);
      const page: Recorded[] = [];
      for await (const event of store.read(stream, { from: first, limit: end - first })) page.push(event);
      for (const { type, data, metadata } of page.reverse()) {
        // Nothing is sent before it is settled.
        if (metadata.at < from) return;
        if (type !== 'usage.settled') continue;
        yield settlementsOf(data).filter(({ settled_at }) => settled_at >= from && settled_at <= to);
      }
    }
  }
}
