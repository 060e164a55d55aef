import type { Millis } from '../../clock.ts';
import { minuteMs } from '../../clock.ts';
import { requestsPerMinute, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowStore } from './window-store.ts';

/**
 * Says that nothing is known of the last minute, as after a start whose snapshot is missing or unsound: until it is over,
 * records begin with their minute windows half used.
 *
 * Unspecified: the day windows then. They begin empty: half a day's requests refused on a guess would harm more than it
 * protects, and the minute windows bound what can be lost.
 */
export const startHalfFull = (store: WindowStore, nowMs: Millis): void => {
  store.time.set(nowMs);
  store.halfFullSince = store.time.now;
  for (const records of store.records) {
    for (const record of records.values()) {
      record.advance(store.time);
      fillToHalf(store, record);
    }
  }
};

/** Books up to half of the minute windows of a record that the store's caution covers. */
export const fillToHalf = ({ time, halfFullSince }: WindowStore, record: WindowRecord): void => {
  if (time.now - halfFullSince >= minuteMs) return;
  // Booked at the present, not at the start: a record made late in that minute may be the later for it, never the fuller.
  const requests = Math.ceil(record.limit(requestsPerMinute) / 2);
  while (record.requestsLastMinute < requests) record.logAttempt(0, time);
  const tokens = Math.ceil(record.limit(tokensPerMinute) / 2) - record.tokensLastMinute;
  if (tokens > 0) record.addTokens(time.second, tokens);
};
