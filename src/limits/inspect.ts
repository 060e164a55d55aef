import type { Millis } from '../clock.ts';
import { concurrentRequests, type MetricName, metricNames, reason, type ScopeName } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { secondMs } from './record/time.ts';
import { follow } from './window/records.ts';
import type { WindowStore } from './window/window-store.ts';

/** One window, as it stands. */
export interface WindowView {
  readonly metric: MetricName;
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until `remaining` next grows without further traffic; 0 when nothing is used; null when nobody can tell. */
  readonly resetMs: Millis | null;
}

/** All windows of one key, project or organization. */
export interface Inspection {
  readonly scope: ScopeName;
  readonly id: string;
  /** Index of the tier whose limits are in force. */
  readonly tier: number;
  readonly windows: readonly WindowView[];
  /** Limits of this scope that refused last, all at once, and how long ago; to the second. */
  readonly lastRefusal: { readonly metrics: readonly MetricName[]; readonly agoMs: Millis } | null;
}

/**
 * What the windows of a scope say now, for "why was I limited": null when nothing was counted there for a day. It counts
 * nothing itself.
 */
export const inspect = (store: WindowStore, scope: ScopeName, id: string, nowMs: Millis): Inspection | null => {
  store.time.set(nowMs);
  const record = store.find(store.scopes.indexOf(scope), id);
  if (record === undefined) return null;
  follow(store, record);
  record.advance(store.time);
  const { refused } = record;
  return {
    scope,
    id,
    tier: record.kind.plan.tier,
    windows: windowsOf(record.kind.limits, (metric, limit) => viewOf(store, record, metric, limit)),
    lastRefusal:
      refused === 0
        ? null
        : {
            metrics: metricNames.filter((_, metric) => (refused & reason(metric, 0)) !== 0),
            agoMs: (store.time.second - record.refusedAt) * secondMs,
          },
  };
};

/** What `inspect` would say where nothing is counted: the limits of the tier, all of them unused. */
export const idle = (store: WindowStore, scope: ScopeName, id: string, tier: number): Inspection => {
  const { limits } = store.plans.of(tier).kinds[store.scopes.indexOf(scope)]!;
  const windows = windowsOf(limits, (_, limit) => ({ used: 0, remaining: limit, resetMs: 0 }));
  return { scope, id, tier, windows, lastRefusal: null };
};

type State = Pick<WindowView, 'used' | 'remaining' | 'resetMs'>;

const windowsOf = (limits: Float64Array, stateOf: (metric: number, limit: number) => State): WindowView[] =>
  metricNames.flatMap((name, metric) => {
    const limit = limits[metric]!;
    return limit === 0 ? [] : [{ metric: name, limit, ...stateOf(metric, limit) }];
  });

const viewOf = ({ time }: WindowStore, record: WindowRecord, metric: number, limit: number): State => {
  const used = record.used(metric);
  const resetMs = metric === concurrentRequests ? (used === 0 ? 0 : null) : record.resetIn(metric, time);
  return { used, remaining: Math.max(0, limit - used), resetMs };
};
