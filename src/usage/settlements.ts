import { dayMs, type Millis } from '../clock.ts';
import { type Settlement, settlementsOf, usageStream } from '../domain/usage/usage-events.ts';
import type { EventStore } from '../kernel/store/store.ts';

/** By whole UTC days, in order. */
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

/** Requests end within half an hour, so an account is on the day of its id or the next. */
const longestMs = dayMs;

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
