import type { Millis } from '../clock.ts';
import type { Tier, TierTable } from '../domain/organization/tiers.ts';
import { FailedAttempts } from './failed-attempts.ts';
import {
  type AdministrationLimits,
  administrationWindows,
  creditWindows,
  type FamilyOptions,
  inferenceWindows,
  plansOf,
} from './families.ts';
import { applyPlans, retier } from './tier-change.ts';
import type { WindowStore } from './window/window-store.ts';

/** Everything that a server counts: a store of windows for each family, and the failures to authenticate. */
export interface Windows {
  readonly inference: WindowStore;
  readonly credits: WindowStore;
  readonly administration: WindowStore;
  readonly failed: FailedAttempts;
}

export interface WindowsOptions extends FamilyOptions {
  /** The tier of an organization now; asked when it is first seen. */
  readonly tierOf: (organization: string) => Tier;
  readonly tiers: TierTable;
  readonly administration: AdministrationLimits;
}

export const openWindows = ({ tierOf, tiers, administration, ...family }: WindowsOptions): Windows => ({
  inference: inferenceWindows({ ...family, tierOf, tiers }),
  credits: creditWindows(family),
  administration: administrationWindows(administration, family),
  failed: new FailedAttempts(),
});

/** The stores of windows, by the names of their families. */
export const storesOf = ({ inference, credits, administration }: Windows): Readonly<Record<string, WindowStore>> => ({
  inference,
  credits,
  administration,
});

/** Gives an organization the limits of the tier that it has now: from its next request on, and to all of its keys. */
export const tierChanged = ({ inference }: Windows, organization: string, nowMs: Millis): void =>
  retier(inference, organization, nowMs);

/**
 * Puts another table of tiers into force, at once.
 * @throws RangeError for limits that the layout cannot hold, before anything is changed
 */
export const applyTiers = ({ inference }: Windows, tiers: TierTable): void => applyPlans(inference, plansOf(tiers));
