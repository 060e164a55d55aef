import { dayMs, type Millis } from '../clock.ts';
import { type Settlement, settlementsOf, usageStream } from '../domain/usage/usage-events.ts';
import type { EventStore } from '../kernel/store/store.ts';

/** Everything that was settled on the days of these two moments and between, in UTC, in the order in which it came. */
export async function* settlementsBetween(
  store: Pick<EventStore, 'read'>,
  from: Millis,
  to: Millis,
): AsyncGenerator<Settlement> {
  const first = Math.floor(from / dayMs) * dayMs;
  for (let day = first; day <= to; day += dayMs) {
    for await (const { type, data } of store.read(usageStream(day))) {
      if (type === 'usage.settled') yield* settlementsOf(data);
    }
  }
}

/** A request ends within half an hour of its beginning, so that its account is on the day of its id or on the next. */
const longestMs = dayMs;

/** The account of a request, by its id and the time that is in it. */
export const settlementOf = async (
  store: Pick<EventStore, 'read'>,
  requestId: string,
  begunAt: Millis,
): Promise<Settlement | undefined> => {
  for await (const each of settlementsBetween(store, begunAt, begunAt + longestMs)) {
    if (each.request_id === requestId) return each;
  }
  return undefined;
};
