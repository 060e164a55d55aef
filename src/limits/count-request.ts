import type { Millis } from '../clock.ts';
import { atScope, dayBit, minuteBit } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { keyAlone } from './window/attempt-journal.ts';
import { recordOf } from './window/records.ts';
import type { Refused, Ticket } from './window/ticket.ts';
import type { LimitSubject, WindowStore } from './window/window-store.ts';

/**
 * Records an attempt at all scopes, and admits it when the requests per minute, per day and in flight allow it (contract F.2,
 * steps 2 and 3). An admitted one is in flight until its ticket ends.
 * @returns the ticket, or the limits that refused (`isRefused`)
 */
export const start = (store: WindowStore, who: LimitSubject, nowMs: Millis): Ticket | Refused => {
  store.lookAgain?.();
  store.time.set(nowMs);
  const key = recordOf(store, who);
  const why = count(store, key);
  if (why !== 0) return why;
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) record.enter();
  return store.tickets.take(key, store.time.second);
};

/** The same for families without concurrency. @returns the limits that refused; 0 when none did */
export const countRequest = (store: WindowStore, who: LimitSubject, nowMs: Millis): number => {
  store.time.set(nowMs);
  return count(store, recordOf(store, who));
};

/** Records an attempt with an inactive key in the key's own windows (contract F.3). @returns 0 for a 401; else a 429 */
export const countInactive = (store: WindowStore, who: LimitSubject, nowMs: Millis): number => {
  store.time.set(nowMs);
  const key = recordOf(store, who);
  const why = key.attempt(store.time) & (minuteBit | dayBit);
  store.journal.add(key.number | keyAlone, store.time.ms);
  if (why !== 0) key.refuse(why, store.time);
  return why;
};

const count = (store: WindowStore, key: WindowRecord): number => {
  const { time } = store;
  let why = 0;
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) {
    const bits = record.attempt(time);
    if (bits === 0) continue;
    record.refuse(bits, time);
    why |= atScope(bits, record.kind.scope);
  }
  store.journal.add(key.number, time.ms);
  return why;
};
