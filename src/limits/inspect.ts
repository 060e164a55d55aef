import type { Millis } from '../clock.ts';
import { limitOf, resetOf, usedOf } from './http/wait.ts';
import { kindShift, planShift } from './window/kinds.ts';
import { organizationWord, refusedAtWord, refusedWord } from './window/layout.ts';
import { moveTo } from './window/move.ts';
import { concurrentRequests, type MetricName, metricNames, reason, tokensPerDay } from './window/reasons.ts';
import { kindOf } from './window/record.ts';
import { advance } from './window/window.ts';
import type { ScopeName, WindowStore } from './window/window-store.ts';

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
  store.setNow(nowMs);
  const number = store.scopes.indexOf(scope);
  const slot = number < 0 ? undefined : store.slots.find(number, id);
  return slot === undefined ? null : inspectSlot(store, slot);
};

/** What `inspect` would say where nothing is counted: the limits of the tier, all of them unused. */
export const idle = (store: WindowStore, scope: ScopeName, id: string, tier: number): Inspection => {
  const kind = (store.kinds.planOf(tier) << planShift) + store.scopes.indexOf(scope);
  const windows: WindowView[] = [];
  for (const [metric, name] of metricNames.entries()) {
    const limit = metric === tokensPerDay ? store.kinds.tpd[kind]! : store.kinds.words[(kind << kindShift) + metric]!;
    if (limit > 0) windows.push({ metric: name, used: 0, limit, remaining: limit, resetMs: 0 });
  }
  return { scope, id, tier, windows, lastRefusal: null };
};

const inspectSlot = (store: WindowStore, slot: number): Inspection => {
  const address = inForce(store, slot);
  advance(store, address);
  const kind = kindOf(store, address);
  const windows: WindowView[] = [];
  for (const [metric, name] of metricNames.entries()) {
    const limit = limitOf(store, address, metric);
    if (limit === 0) continue;
    const used = usedOf(store, address, metric);
    const resetMs = metric === concurrentRequests ? (used === 0 ? 0 : null) : resetOf(store, address, metric);
    windows.push({ metric: name, used, limit, remaining: Math.max(0, limit - used), resetMs });
  }
  const bits = store.slab.u16[(address + refusedWord) << 1]!;
  const at = store.slab.i32[address + refusedAtWord]!;
  return {
    scope: store.scopes[kind & ((1 << planShift) - 1)]!,
    id: store.slots.idOf(slot)!,
    tier: store.kinds.tierOf(kind >> planShift),
    windows,
    lastRefusal:
      bits === 0
        ? null
        : {
            metrics: metricNames.filter((_, metric) => (bits & reason(metric, 0)) !== 0),
            agoMs: (store.second - at) * 1000,
          },
  };
};

/** The slot's record with the limits that its organization has now. */
const inForce = (store: WindowStore, slot: number): number => {
  const address = store.slots.address(slot);
  const organization = store.slab.i32[address + organizationWord]!;
  const top = organization < 0 ? address : store.slots.address(organization);
  const plan = store.kinds.successor[kindOf(store, top) >> planShift]!;
  if (top !== address) moveTo(store, top, plan);
  return moveTo(store, address, plan);
};
