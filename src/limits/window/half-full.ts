import type { Millis } from '../../clock.ts';
import { minuteMs } from '../../clock.ts';
import { requestsPerMinute, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowStore } from './window-store.ts';

/**
 * Starts without knowledge of the last minute: until it is over, records begin with their minute windows half used.
 * Unspecified: the day windows. They begin empty, because half a day's refusals on a guess would be worse than the risk.
 */
export const startHalfFull = (store: WindowStore, nowMs: Millis): void => {
  store.time.set(nowMs);
  store.halfFullSince = store.time.now;
  for (const record of store.all()) {
    record.advance(store.time);
    fillToHalf(store, record);
  }
};

/** Fills the minute windows of a record to half, within the first minute. */
export const fillToHalf = ({ time, halfFullSince }: WindowStore, record: WindowRecord): void => {
  if (time.now - halfFullSince >= minuteMs) return;
  // Booked at the present, so a record made late in that minute counts longer, but not more.
  const requests = Math.ceil(record.limit(requestsPerMinute) / 2);
  while (record.requestsLastMinute < requests) record.logAttempt(0, time);
  const tokens = Math.ceil(record.limit(tokensPerMinute) / 2) - record.tokensLastMinute;
  if (tokens > 0) record.addTokens(time.second, tokens);
};
