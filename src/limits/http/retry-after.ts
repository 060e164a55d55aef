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

/**
 * The tokens that a request needs: a number; or `'unknown'` where its body was too large to read. Then the minute windows
 * are taken as needed whole and the day window as sufficient while it has anything left (contract F.2).
 */
export type Need = number | 'unknown';

/** What a refused client is told (contract F.6). */
export interface Wait {
  /** Whole seconds, at least 1: after these the same request passes every limit on requests and tokens of all scopes. */
  readonly seconds: number;
  /** Of the limits that refused, the one that lasts longest. */
  readonly scope: ScopeName;
  readonly metric: MetricName;
  readonly limit: number;
}

/**
 * How long a refused request has to wait, over all limits and not only those that refused: to record the refusal may have
 * filled another window. Call it after the refusal; `why` says which limits refused. It promises nothing on concurrency.
 */
export const waitAfter = (store: WindowStore, who: LimitSubject, why: number, need: Need, nowMs: Millis): Wait => {
  store.time.set(nowMs);
  return over(store, recordOf(store, who), why, need, false);
};

/** The same for an inactive key, which its own windows alone refuse (contract F.3). */
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

/** Milliseconds until this one window lets the request pass; nobody knows when a request in flight ends. */
const waitOf = (record: WindowRecord, metric: number, need: Need, time: WindowTime): Millis => {
  const limit = record.limit(metric);
  if (limit === 0 || metric === concurrentRequests) return 0;
  if (metric === requestsPerMinute || metric === requestsPerDay) return record.waitFor(metric, limit - 1, time);
  if (need === 0) return 0;
  const tokens = need === 'unknown' ? (metric === tokensPerDay ? 1 : limit) : Math.min(wholeTokens(need), limit);
  return record.waitFor(metric, limit - tokens, time);
};
