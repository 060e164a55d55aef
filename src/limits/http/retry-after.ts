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
import { countedWith } from '../window/models.ts';
import { recordOf } from '../window/records.ts';
import { type Counted, nextOf } from '../window/ticket.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';

/** Tokens; 'unknown' (body too large to read) needs whole minute windows, and any rest of the day's (contract F.2). */
export type TokensNeeded = number | 'unknown';

/** Contract F.6. */
export interface Wait {
  /** At least 1: after these the same request passes every limit on requests and tokens. */
  readonly seconds: number;
  /** The longest-lasting of the limits that refused. */
  readonly scope: ScopeName;
  readonly metric: MetricName;
  readonly limit: number;
  /** Of a project's windows for one model: its id. */
  readonly model: string | null;
}

/** The wait for all limits, because the refused attempt may have filled others. Concurrency is ignored. @param model its id */
export const waitAfter = (
  store: WindowStore,
  who: LimitSubject,
  why: number,
  need: TokensNeeded,
  nowMs: Millis,
  model: string | null = null,
): Wait => {
  store.time.set(nowMs);
  return over(store, countedWith(store, who, model), why, need, model);
};

/** The same for the own windows of an inactive key (contract F.3). */
export const waitOfInactive = (store: WindowStore, who: LimitSubject, why: number, nowMs: Millis): Wait => {
  store.time.set(nowMs);
  return over(store, { key: recordOf(store, who), outer: null }, why, 0, null);
};

const over = (
  { scopes, time }: WindowStore,
  counted: Counted,
  why: number,
  need: TokensNeeded,
  model: string | null,
): Wait => {
  let longest = 0;
  let named = { wait: -1, record: counted.key, metric: 0 };
  for (let record: WindowRecord | null = counted.key; record !== null; record = nextOf(counted, record)) {
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
    model: record === counted.outer && record !== counted.key.parent ? model : null,
  };
};

/** Milliseconds until this window admits the request; 0 for concurrency, which is unpredictable. */
const waitOf = (record: WindowRecord, metric: number, need: TokensNeeded, time: WindowTime): Millis => {
  const limit = record.limit(metric);
  if (limit === 0 || metric === concurrentRequests) return 0;
  if (metric === requestsPerMinute || metric === requestsPerDay) return record.waitFor(metric, limit - 1, time);
  if (need === 0) return 0;
  const tokens = need === 'unknown' ? (metric === tokensPerDay ? 1 : limit) : Math.min(wholeTokens(need), limit);
  return record.waitFor(metric, limit - tokens, time);
};
