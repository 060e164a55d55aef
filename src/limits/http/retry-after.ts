import type { Millis } from '../../clock.ts';
import {
  concurrentRequests,
  type MetricName,
  metricNames,
  reason,
  requestsPerDay,
  requestsPerMinute,
  type ScopeName,
  tokensPerDay,
} from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowTime } from '../record/time.ts';
import { wholeTokens } from '../reserve.ts';
import { recordOf } from '../window/records.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';

/** Tokens; 'unknown' (body too large to read) needs whole minute windows, and any rest of the day's (contract F.2). */
export type Need = number | 'unknown';

/** Contract F.6. */
export interface Wait {
  /** At least 1: after these the same request passes every limit on requests and tokens. */
  readonly seconds: number;
  /** The longest-lasting of the limits that refused. */
  readonly scope: ScopeName;
  readonly metric: MetricName;
  readonly limit: number;
}

/** The wait for all limits, because the refused attempt may have filled others. Concurrency is ignored. */
export const waitAfter = (store: WindowStore, who: LimitSubject, why: number, need: Need, nowMs: Millis): Wait => {
  store.time.set(nowMs);
  return over(store, recordOf(store, who), why, need, false);
};

/** The same for the own windows of an inactive key (contract F.3). */
export const waitOfInactive = (store: WindowStore, who: LimitSubject, why: number, nowMs: Millis): Wait => {
  store.time.set(nowMs);
  return over(store, recordOf(store, who), why, 0, true);
};

const over = ({ scopes, time }: WindowStore, key: WindowRecord, why: number, need: Need, ownOnly: boolean): Wait => {
  let longest = 0;
  let named = { wait: -1, record: key, metric: 0 };
  for (let record: WindowRecord | null = key; record !== null; record = ownOnly ? null : record.parent) {
    record.advance(time);
    for (const metric of metricNames.keys()) {
      const wait = waitOf(record, metric, need, time);
      if (wait > longest) longest = wait;
      if (wait > named.wait && (why & reason(metric, record.kind.scope)) !== 0) named = { wait, record, metric };
    }
  }
  const { record, metric } = named;
  return {
    seconds: Math.max(1, Math.ceil(longest / 1000)),
    scope: scopes[record.kind.scope]!,
    metric: metricNames[metric]!,
    limit: record.limit(metric),
  };
};

/** Milliseconds until this window admits the request; 0 for concurrency, which is unpredictable. */
const waitOf = (record: WindowRecord, metric: number, need: Need, time: WindowTime): Millis => {
  const limit = record.limit(metric);
  if (limit === 0 || metric === concurrentRequests) return 0;
  if (metric === requestsPerMinute || metric === requestsPerDay) return record.waitFor(metric, limit - 1, time);
  if (need === 0) return 0;
  const tokens = need === 'unknown' ? (metric === tokensPerDay ? 1 : limit) : Math.min(wholeTokens(need), limit);
  return record.waitFor(metric, limit - tokens, time);
};
