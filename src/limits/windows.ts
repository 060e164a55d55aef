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
import { retier } from './window/records.ts';
import type { WindowStore } from './window/window-store.ts';

export interface Windows {
  readonly inference: WindowStore;
  readonly credits: WindowStore;
  readonly administration: WindowStore;
  readonly failed: FailedAttempts;
}

export interface WindowsOptions extends FamilyOptions {
  /** Called when an organization is first seen. */
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

export const storesOf = ({ inference, credits, administration }: Windows): Readonly<Record<string, WindowStore>> => ({
  inference,
  credits,
  administration,
});

/** Applies an organization's present tier, from its next request on. */
export const tierChanged = ({ inference }: Windows, organization: string, nowMs: Millis): void =>
  retier(inference, organization, nowMs);

/** Applies another table of tiers. @throws RangeError for limits that do not fit the layout, before any change */
export const applyTiers = ({ inference }: Windows, tiers: TierTable): void => inference.plans.replace(plansOf(tiers));
