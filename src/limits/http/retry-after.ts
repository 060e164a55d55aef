import type { Millis } from '../../clock.ts';
import { wholeTokens } from '../window/amounts.ts';
import {
  concurrentRequests,
  type MetricName,
  metricNames,
  reason,
  requestsPerDay,
  requestsPerMinute,
  tokensPerDay,
} from '../window/reasons.ts';
import { resolve } from '../window/resolve.ts';
import { advance } from '../window/window.ts';
import type { LimitSubject, ScopeName, WindowStore } from '../window/window-store.ts';
import { limitOf, waitFor } from './wait.ts';

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
  store.setNow(nowMs);
  resolve(store, who);
  return over(store, why, need, store.top);
};

/** The same for an inactive key, which its own windows alone refuse (contract F.3). */
export const waitOfInactive = (store: WindowStore, who: LimitSubject, why: number, nowMs: Millis): Wait => {
  store.setNow(nowMs);
  resolve(store, who);
  return over(store, why, 0, 0);
};

const addressOf = (store: WindowStore, scope: number): number =>
  scope === 0 ? store.keyAt : scope === store.top ? store.organizationAt : store.projectAt;

/** Over the windows of scope 0 to `top` of the resolved records. */
const over = (store: WindowStore, why: number, need: Need, top: number): Wait => {
  let longest = 0;
  let named = -1;
  let scopeNamed = 0;
  let metricNamed = 0;
  for (let scope = 0; scope <= top; scope++) {
    const address = addressOf(store, scope);
    advance(store, address);
    for (let metric = 0; metric < metricNames.length; metric++) {
      const wait = waitOf(store, address, metric, need);
      if (wait > longest) longest = wait;
      if (wait <= named || (why & reason(metric, scope)) === 0) continue;
      named = wait;
      scopeNamed = scope;
      metricNamed = metric;
    }
  }
  return {
    seconds: Math.max(1, Math.ceil(longest / 1000)),
    scope: store.scopes[scopeNamed]!,
    metric: metricNames[metricNamed]!,
    limit: limitOf(store, addressOf(store, scopeNamed), metricNamed),
  };
};

/** Milliseconds until this one window lets the request pass; nobody knows when a request in flight ends. */
const waitOf = (store: WindowStore, address: number, metric: number, need: Need): number => {
  const limit = limitOf(store, address, metric);
  if (limit === 0 || metric === concurrentRequests) return 0;
  if (metric === requestsPerMinute || metric === requestsPerDay) return waitFor(store, address, metric, limit - 1);
  if (need === 0) return 0;
  const tokens = need === 'unknown' ? (metric === tokensPerDay ? 1 : limit) : Math.min(wholeTokens(need), limit);
  return waitFor(store, address, metric, limit - tokens);
};
