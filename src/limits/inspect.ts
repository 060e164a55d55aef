import type { Millis } from '../clock.ts';
import { concurrentRequests, type MetricName, metricNames, reason, type ScopeName } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { secondMs } from './record/time.ts';
import { follow } from './window/records.ts';
import type { WindowStore } from './window/window-store.ts';

export interface WindowView {
  readonly metric: MetricName;
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until `remaining` next grows without traffic; 0 when unused; null when unpredictable. */
  readonly resetMs: Millis | null;
}

export interface Inspection {
  readonly scope: ScopeName;
  readonly id: string;
  /** Index of the tier in force. */
  readonly tier: number;
  readonly windows: readonly WindowView[];
  /** The limits that refused last, and how long ago, to the second. */
  readonly lastRefusal: { readonly metrics: readonly MetricName[]; readonly agoMs: Millis } | null;
}

/** The present windows of a scope; null when nothing was counted there for a day. */
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

/** The same for a scope where nothing is counted. */
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
