import { z } from 'zod';
import { plans } from '../../domain/organization/billing.ts';
import { limitsFor, type TierTable } from '../../domain/organization/tiers.ts';
import { mostPossible } from '../record/window-limits.ts';

/** The organization's multiple of the key's limits. */
const widest = limitsFor(0, 'organization').rpm / limitsFor(0, 'key').rpm;

/** Even, because a project has one and a half times as much. */
const perKey = (most: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(2, { error: 'must be at least 2' })
    .max(Math.floor(most / widest), { error: `must be at most ${Math.floor(most / widest)}` })
    .refine((value) => value % 2 === 0, { error: 'must be even: a project has one and a half times as much' });
const count = (most: number) =>
  z
    .int({ error: 'must be a whole number' })
    .min(1, { error: 'must be at least 1' })
    .max(most, { error: `must be at most ${most}` });

const row = z.strictObject({
  paid: z.number({ error: 'must be a number of US dollars' }).min(0, { error: 'must not be negative' }),
  subscription: z.enum(plans, { error: `must be null or one of ${plans.join(', ')}` }).nullable(),
  rpm: perKey(mostPossible.rpm),
  tpm: perKey(mostPossible.tpm),
  rpd: perKey(mostPossible.rpd),
  tpd: count(mostPossible.tpd),
  concurrent: z.strictObject({
    key: count(mostPossible.concurrent),
    project: count(mostPossible.concurrent),
    organization: count(mostPossible.concurrent),
  }),
});

const file = z.strictObject({
  tiers: z.array(row).length(6, { error: 'must be six tiers, from tier 0 (Free) to tier 5' }),
});

interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Parses `{"tiers": [six rows]}`. @throws Error with every fault and its path, on a line each */
export const parseTiers = (text: string): TierTable => {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new Error('The tiers file is not valid JSON.');
  }
  const parsed = file.safeParse(raw);
  const faults: Fault[] = [...(parsed.error?.issues ?? []), ...crossFaults(raw)];
  if (faults.length === 0) return parsed.data!.tiers as unknown as TierTable;
  const lines = faults.map(({ path, message }) => `  ${jsonPath(path)}: ${message}`);
  throw new Error(
    `The tiers file has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${lines.join('\n')}`,
  );
};

/** Faults between rows. Reads the raw input, so that it reports them even where the schema refuses. */
const crossFaults = (raw: unknown): Fault[] => {
  const rows = field(raw, 'tiers');
  if (!Array.isArray(rows)) return [];
  const faults: Fault[] = [];
  const subscriptions = new Map<string, number>();
  for (const [tier, each] of rows.entries()) {
    const at = (message: string, ...path: string[]) => faults.push({ path: ['tiers', tier, ...path], message });
    const paid = field(each, 'paid');
    if (tier === 0 && typeof paid === 'number' && paid !== 0) at('must be 0: everybody has tier 0', 'paid');
    const below = field(rows[tier - 1], 'paid');
    if (typeof paid === 'number' && typeof below === 'number' && paid <= below) {
      at(`must be above the ${below} of tiers[${tier - 1}]`, 'paid');
    }
    const subscription = field(each, 'subscription');
    if (typeof subscription === 'string') {
      const first = subscriptions.get(subscription);
      if (first === undefined) subscriptions.set(subscription, tier);
      else at(`the subscription of tiers[${first}] too`, 'subscription');
    }
    const concurrent = field(each, 'concurrent');
    for (const [inner, outer] of [
      ['key', 'project'],
      ['project', 'organization'],
    ] as const) {
      const [few, many] = [field(concurrent, inner), field(concurrent, outer)];
      if (typeof few === 'number' && typeof many === 'number' && few > many) {
        at(`must not be below the ${few} of the ${inner}`, 'concurrent', outer);
      }
    }
  }
  return faults;
};

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const jsonPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '') || '(root)';
