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
import type { OwnLimitsSource } from './own-limits.ts';
import { retightenKey, retightenProject } from './window/models.ts';
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
  /** Limits of projects, models and keys of their own; none by default. */
  readonly own?: OwnLimitsSource | undefined;
  readonly tiers: TierTable;
  readonly administration: AdministrationLimits;
}

export const openWindows = ({ tierOf, own, tiers, administration, ...family }: WindowsOptions): Windows => ({
  inference: inferenceWindows({ ...family, tierOf, own, tiers }),
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

/** Applies a project's present limits and those of its models, from its next request on. */
export const projectLimitsChanged = ({ inference }: Windows, project: string, nowMs: Millis): void =>
  retightenProject(inference, project, nowMs);

/** Applies the present limits of a line of keys. @param line the first key of the chain of rotations */
export const keyLimitsChanged = ({ inference }: Windows, line: string, nowMs: Millis): void =>
  retightenKey(inference, line, nowMs);

/** Applies another table of tiers. @throws RangeError for limits that do not fit the layout, before any change */
export const applyTiers = ({ inference }: Windows, tiers: TierTable): void => inference.plans.replace(plansOf(tiers));
