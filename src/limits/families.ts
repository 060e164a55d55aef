import { limitsFor, type Scope, type Tier, type TierTable, tiers } from '../domain/organization/tiers.ts';
import type { FamilyLimits } from './record/window-limits.ts';
import { WindowStore, type WindowStoreOptions } from './window/window-store.ts';

/** What every family may be given. */
export type FamilyOptions = Pick<WindowStoreOptions, 'owner' | 'report'>;

const scopes = ['key', 'project', 'organization'] as const satisfies readonly Scope[];

/** The limits of a table, tier by tier and scope by scope. */
export const plansOf = (table: TierTable): FamilyLimits[] =>
  table.map((_, tier) => scopes.map((scope) => limitsFor(tier as Tier, scope, table)));

/** Inference: every call but `GET /v1/credits` (contract F.1). `tierOf` is asked when an organization is first seen. */
export const inferenceWindows = (
  options: FamilyOptions & { readonly tierOf: (organization: string) => Tier; readonly tiers?: TierTable },
): WindowStore => {
  const { tiers: table = tiers, ...others } = options;
  return new WindowStore({ ...others, name: 'inference', scopes, plans: plansOf(table) });
};

const requestsOnly = (rpm: number, concurrent: number | null = null) => ({
  rpm,
  rpd: null,
  tpm: null,
  tpd: null,
  concurrent,
});

/** `GET /v1/credits`: 60 a minute and key, 300 a minute and organization, whatever the tier. */
export const creditWindows = (options: FamilyOptions = {}): WindowStore =>
  new WindowStore({
    ...options,
    name: 'credits',
    scopes: ['key', 'organization'],
    plans: [[requestsOnly(60), requestsOnly(300)]],
    tierOf: () => 0,
  });

/** The administration's limits (contract F.1). */
export interface AdministrationLimits {
  readonly credentialRpm: number;
  readonly credentialConcurrent: number;
  readonly organizationRpm: number;
  readonly organizationConcurrent: number;
}

const administrationPlan = (limits: AdministrationLimits): FamilyLimits => [
  requestsOnly(limits.credentialRpm, limits.credentialConcurrent),
  requestsOnly(limits.organizationRpm, limits.organizationConcurrent),
];

/** Administration: every call with an Admin API key or an access token. A credential of the wrong kind counts here too. */
export const administrationWindows = (limits: AdministrationLimits, options: FamilyOptions = {}): WindowStore =>
  new WindowStore({
    ...options,
    name: 'administration',
    scopes: ['credential', 'organization'],
    plans: [administrationPlan(limits)],
    tierOf: () => 0,
  });
