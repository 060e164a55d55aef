import type { Millis } from '../clock.ts';
import { atScope, dayBit, minuteBit, ofScope } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { keyAlone } from './window/attempt-journal.ts';
import { recordOf } from './window/records.ts';
import type { Refused, Ticket } from './window/ticket.ts';
import type { LimitSubject, WindowStore } from './window/window-store.ts';

/**
 * Records an attempt at all scopes, whatever comes of it, and admits it when the requests per minute, the requests per day
 * and the requests in flight of all scopes allow it (contract F.2, steps 2 and 3). An admitted one is in flight until its
 * ticket ends; a refused one never is.
 *
 * @param nowMs the monotonic clock
 * @returns the ticket, or the limits that refused (`isRefused`)
 */
export const start = (store: WindowStore, who: LimitSubject, nowMs: Millis): Ticket | Refused => {
  store.time.set(nowMs);
  const key = recordOf(store, who);
  const why = count(store, key);
  if (why !== 0) return why;
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) record.enter();
  return store.tickets.take(key, store.time.second);
};

/**
 * Records an attempt at all scopes and says which limits refuse it; 0 when none does. For families that have no
 * concurrency (the credit balance): nothing needs to be ended.
 */
export const countRequest = (store: WindowStore, who: LimitSubject, nowMs: Millis): number => {
  store.time.set(nowMs);
  return count(store, recordOf(store, who));
};

/**
 * Records an attempt with an inactive key in the key's own windows alone (contract F.3): 0 means 401, else 429. Of the
 * limits that refuse, the key's own requests per minute and per day count here.
 */
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
    why |= atScope(record.attempt(time), record.kind.scope);
  }
  store.journal.add(key.number, time.ms);
  if (why !== 0) noteRefusal(store, key, why);
  return why;
};

/** Notes in each record that refused which of its limits did, and when, for whoever asks why. */
export const noteRefusal = ({ time }: WindowStore, key: WindowRecord, why: number): void => {
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) {
    const own = ofScope(why, record.kind.scope);
    if (own !== 0) record.refuse(own, time);
  }
};
