import type { Millis } from '../clock.ts';
import type { FamilyLimits } from './record/window-limits.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Gives an organization the limits of the tier that it has now (`tierOf`); call it whenever that changes. Its projects and
 * keys follow when they are next used, which nobody can tell from at once.
 */
export const retier = (store: WindowStore, organization: string, nowMs: Millis): void => {
  store.time.set(nowMs);
  const record = store.find(store.top, organization);
  const plan = store.plans.of(store.tierOf(organization));
  if (record === undefined || record.kind.plan === plan) return;
  record.become(plan.kinds[store.top]!, store.time);
  store.changed(record);
};

/**
 * Puts other limits into force for all tiers, at run time. Every record follows when it is next used.
 * @throws RangeError for limits that a record cannot hold, before anything is changed
 */
export const applyPlans = (store: WindowStore, plans: readonly FamilyLimits[]): void => store.plans.replace(plans);
