import type { Millis } from '../clock.ts';
import type { WindowLimits } from './tiers/window-limits.ts';
import { moveTo } from './window/move.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Gives an organization the limits of the tier that it has now (`tierOf`); call it whenever that changes. Its projects and
 * keys follow when they are next used, which nobody can tell from at once.
 */
export const retier = (store: WindowStore, organization: string, nowMs: Millis): void => {
  store.setNow(nowMs);
  const slot = store.slots.find(store.top, organization);
  if (slot === undefined) return;
  moveTo(store, store.slots.address(slot), store.kinds.planOf(store.tierOf(organization)));
};

/**
 * Puts other limits into force for all tiers, at run time. Every record follows when it is next used.
 * @throws RangeError for limits that the layout cannot hold, before anything is changed
 */
export const applyPlans = (store: WindowStore, plans: readonly (readonly WindowLimits[])[]): void => {
  if (plans.some((plan) => plan.length !== store.scopes.length)) {
    throw new RangeError('Every plan has limits for every scope.');
  }
  store.kinds.replace(plans);
  store.slots.epoch++;
};
