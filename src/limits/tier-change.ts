import type { Millis } from '../clock.ts';
import type { FamilyLimits } from './record/window-limits.ts';
import type { WindowStore } from './window/window-store.ts';

/** Applies an organization's present tier; call it after each change. Its projects and keys follow at their next use. */
export const retier = (store: WindowStore, organization: string, nowMs: Millis): void => {
  store.time.set(nowMs);
  const record = store.find(store.top, organization);
  const plan = store.plans.of(store.tierOf(organization));
  if (record === undefined || record.kind.plan === plan) return;
  record.become(plan.kinds[store.top]!, store.time);
  store.changed(record);
};

/** Replaces all limits; records follow at their next use. @throws RangeError for limits that do not fit, before any change */
export const applyPlans = (store: WindowStore, plans: readonly FamilyLimits[]): void => store.plans.replace(plans);
