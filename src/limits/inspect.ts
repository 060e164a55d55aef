import type { Millis } from '../clock.ts';
import type { Kind } from './record/kind.ts';
import { concurrentRequests, type MetricName, metricNames, reason, type ScopeName } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { secondMs } from './record/time.ts';
import { follow, ownOf } from './window/records.ts';
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
  /** Whose windows these are in the project; absent for the scope as a whole. */
  readonly model?: string;
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
  return record === undefined ? null : viewOfRecord(store, record, { scope, id });
};

/** The same for a scope where nothing is counted. */
export const idle = (
  store: WindowStore,
  scope: ScopeName,
  id: string,
  organization: string,
  tier: number,
): Inspection => {
  const number = store.scopes.indexOf(scope);
  return viewOfKind(
    store.plans.of(tier).kindOf({ scope: number, own: ownOf(store, number, id, organization), isOfModel: false }),
    { scope, id },
  );
};

/** The windows of each model that has limits in the project. */
export const inspectModels = (
  store: WindowStore,
  project: string,
  organization: string,
  tier: number,
  nowMs: Millis,
): Inspection[] => {
  store.time.set(nowMs);
  const scope = store.scopes.indexOf('project');
  const models = scope < 0 ? [] : (store.own.ofProject(project, organization)?.models ?? []);
  return Array.from(models, ([model, own]) => {
    const name = { scope: 'project', id: project, model } as const;
    const record = store.models.get(project)?.get(model)?.record ?? null;
    return record === null
      ? viewOfKind(store.plans.of(tier).kindOf({ scope, own, isOfModel: true }), name)
      : viewOfRecord(store, record, name);
  });
};

type Name = Pick<Inspection, 'scope' | 'id' | 'model'>;

const viewOfKind = ({ limits, plan }: Kind, name: Name): Inspection => {
  const windows = windowsOf(limits, (_, limit) => ({ used: 0, remaining: limit, resetMs: 0 }));
  return { ...name, tier: plan.tier, windows, lastRefusal: null };
};

const viewOfRecord = (store: WindowStore, record: WindowRecord, name: Name): Inspection => {
  follow(store, record);
  record.advance(store.time);
  const { refused } = record;
  return {
    ...name,
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
