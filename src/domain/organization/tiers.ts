export type Tier = 0 | 1 | 2 | 3 | 4 | 5;
export type Scope = 'key' | 'project' | 'organization';

export interface TierLimits {
  readonly rpm: number;
  readonly rpd: number;
  /** Input plus output tokens per minute. */
  readonly tpm: number;
  /** Input plus output tokens per day; only for organizations. */
  readonly tpd: number | null;
  readonly concurrent: number;
}

interface TierRow {
  /** Threshold of lifetime payments in whole US dollars, inclusive. */
  readonly paid: number;
  readonly subscription: string | null;
  readonly rpm: number;
  readonly tpm: number;
  readonly rpd: number;
  readonly tpd: number;
  readonly concurrent: Readonly<Record<Scope, number>>;
}

const M = 1_000_000;
const B = 1_000_000_000;
const slots = (key: number, project: number, organization: number) => ({ key, project, organization });

/** Tiers 0 (Free) to 5. Operators can replace it (src/limits/tiers/tiers-file.ts). */
export type TierTable = readonly [TierRow, TierRow, TierRow, TierRow, TierRow, TierRow];

export const tiers: TierTable = [
  { paid: 0, subscription: 'Free', rpm: 60, tpm: 1 * M, rpd: 10_000, tpd: 1 * B, concurrent: slots(4, 6, 8) },
  { paid: 20, subscription: 'Developer', rpm: 120, tpm: 2 * M, rpd: 15_000, tpd: 2 * B, concurrent: slots(8, 10, 12) },
  { paid: 50, subscription: 'Growth', rpm: 300, tpm: 4 * M, rpd: 25_000, tpd: 5 * B, concurrent: slots(12, 14, 16) },
  { paid: 200, subscription: 'Scale', rpm: 500, tpm: 6 * M, rpd: 50_000, tpd: 10 * B, concurrent: slots(16, 16, 16) },
  { paid: 1_000, subscription: null, rpm: 700, tpm: 8 * M, rpd: 75_000, tpd: 20 * B, concurrent: slots(32, 32, 32) },
  { paid: 5_000, subscription: null, rpm: 900, tpm: 10 * M, rpd: 100_000, tpd: 50 * B, concurrent: slots(32, 32, 32) },
];

const multiplier: Readonly<Record<Scope, number>> = { key: 1, project: 1.5, organization: 2 };

export const limitsFor = (tier: Tier, scope: Scope, table = tiers): TierLimits => {
  const row = table[tier];
  const times = multiplier[scope];
  return {
    rpm: row.rpm * times,
    rpd: row.rpd * times,
    tpm: row.tpm * times,
    tpd: scope === 'organization' ? row.tpd : null,
    concurrent: row.concurrent[scope],
  };
};

/** The tier of lifetime payments in micro-dollars; thresholds are inclusive (contract F.7). */
export const tierOfSpend = (paidMicros: number, table = tiers): Tier =>
  table.findLastIndex(({ paid }) => paidMicros >= paid * M || paid === 0) as Tier;

export const tierOfPlan = (plan: string, table = tiers): Tier =>
  Math.max(
    0,
    table.findIndex(({ subscription }) => subscription === plan),
  ) as Tier;
