import { limitsFor, type Scope, type Tier, type TierTable, tiers } from '../domain/organization/tiers.ts';
import type { FamilyLimits } from './record/window-limits.ts';
import { WindowStore, type WindowStoreOptions } from './window/window-store.ts';

export type FamilyOptions = Pick<WindowStoreOptions, 'owner' | 'report'>;

const scopes = ['key', 'project', 'organization'] as const satisfies readonly Scope[];

/** The limits of a table by tier and scope. */
export const plansOf = (table: TierTable): FamilyLimits[] =>
  table.map((_, tier) => scopes.map((scope) => limitsFor(tier as Tier, scope, table)));

/** Inference: every call but `GET /v1/credits` (contract F.1). `tierOf` and `own` are asked when a record is made. */
export const inferenceWindows = (
  options: FamilyOptions &
    Pick<WindowStoreOptions, 'own'> & {
      readonly tierOf: (organization: string) => Tier;
      readonly tiers?: TierTable;
    },
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

/** `GET /v1/credits`: 60 a minute per key, 300 a minute per organization. */
export const creditWindows = (options: FamilyOptions = {}): WindowStore =>
  new WindowStore({
    ...options,
    name: 'credits',
    scopes: ['key', 'organization'],
    plans: [[requestsOnly(60), requestsOnly(300)]],
    tierOf: () => 0,
  });

/** Contract F.1. */
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

/** Every call with an Admin API key or access token; credentials of the wrong kind count, too. */
export const administrationWindows = (limits: AdministrationLimits, options: FamilyOptions = {}): WindowStore =>
  new WindowStore({
    ...options,
    name: 'administration',
    scopes: ['credential', 'organization'],
    plans: [administrationPlan(limits)],
    tierOf: () => 0,
  });
