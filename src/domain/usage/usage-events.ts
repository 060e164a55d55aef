import type { Api } from '../../apis.ts';
import type { Pricing, Taken } from './charge.ts';
import { day } from './day.ts';

/** 400 days (contract M.5). Their totals are kept forever. */
export const accountSeconds = 400 * 24 * 3600;

/** Who counted the tokens (contract M.2): the upstream, the upstream in part, or Weir. */
export type UsageSource = 'final' | 'partial' | 'estimated';

/** The one account of a request that reached its upstream. */
export interface Settlement extends Taken {
  readonly request_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly key_id: string;
  readonly model: string;
  /** The alias that the client sent for it, if any (contract M.2). */
  readonly requested_model?: string | null | undefined;
  /** Part of the output, if the upstream has counted any (contract M.2). */
  readonly reasoning_tokens?: number | null | undefined;
  readonly api: Api;
  readonly usage_source: UsageSource;
  readonly price: string;
  readonly micro_dollars: number;
  /** Of the answer; 499 if the client left early, 500 if the gateway ended in between. */
  readonly status: number;
  /** Milliseconds: the time; since the call of the upstream; from it to the first part of the answer, if any. */
  readonly settled_at: number;
  readonly duration_ms: number;
  readonly first_token_ms: number | null;
}

type Value = Settlement[keyof Settlement];

/** On `usage-<day>`: accounts of any organizations, as a table without repeated names, which would double its size. */
export interface UsageSettled {
  readonly type: 'usage.settled';
  readonly fields: readonly string[];
  /** One account each, in the order of `fields`. */
  readonly rows: readonly (readonly Value[])[];
}

const fields = [
  'request_id',
  'organization_id',
  'project_id',
  'key_id',
  'model',
  'api',
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'images',
  'usage_source',
  'price',
  'micro_dollars',
  'status',
  'settled_at',
  'duration_ms',
  'first_token_ms',
] as const satisfies readonly (keyof Settlement)[];

/** Behind the others, and only in events that have some. */
const rareFields = ['details', 'requested_model', 'reasoning_tokens'] as const;
const allFields = [...fields, ...rareFields] as const;

const blank = Object.fromEntries(fields.map((field) => [field, null])) as Record<string, unknown>;

/** @param names of the values, by default all fields */
export const accountOf = (row: readonly unknown[], names: readonly string[] = allFields): Settlement => {
  // Copying an object of this shape is ten times as fast as Object.fromEntries, and this runs for each request.
  const account = { ...blank };
  for (let i = 0; i < row.length; i++) account[names[i]!] = row[i];
  return account as unknown as Settlement;
};

export const usageSettled = (settlements: readonly Settlement[]): Omit<UsageSettled, 'type'> => {
  const rare = rareFields.filter((field) => settlements.some((settlement) => settlement[field] != null));
  const named = rare.length === 0 ? fields : [...fields, ...rare];
  return { fields: named, rows: settlements.map((settlement) => named.map((field) => settlement[field] ?? null)) };
};

export const settledIn = (data: Readonly<Record<string, unknown>>): string[] => {
  const { fields: names, rows } = data as unknown as UsageSettled;
  const place = names.indexOf('request_id');
  return rows.map((row) => row[place] as string);
};

export const settlementsOf = (data: Readonly<Record<string, unknown>>): Settlement[] => {
  const { fields: names, rows } = data as unknown as UsageSettled;
  return rows.map((row) => accountOf(row, names));
};

/** The part of an account that is summed. */
export interface Use {
  readonly organizationId: string;
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
  readonly at: number;
  readonly sum: UsageSum;
}

/** A third of the cost of `settlementsOf`: it runs for each request and read model. */
export function* usesIn(data: Readonly<Record<string, unknown>>): Generator<Use> {
  const { fields: names, rows } = data as unknown as UsageSettled;
  const place = (name: (typeof fields)[number]): number => names.indexOf(name);
  const [organization, project, key, model] = [
    place('organization_id'),
    place('project_id'),
    place('key_id'),
    place('model'),
  ];
  const [at, input, output] = [place('settled_at'), place('input_tokens'), place('output_tokens')];
  const [creation, read] = [place('cache_creation_input_tokens'), place('cache_read_input_tokens')];
  const money = place('micro_dollars');
  for (const row of rows) {
    const counts = [row[input], row[output], row[creation], row[read], row[money]];
    // Weir writes no negative amounts, which would be credit.
    if (!counts.every(isCount) || !Number.isFinite(row[at])) continue;
    if (![row[organization], row[project], row[key]].every(isId) || !isText(row[model], longestModel)) continue;
    const sum: UsageSum = {
      requests: 1,
      input: row[input] as number,
      output: row[output] as number,
      cacheCreation: row[creation] as number,
      cacheRead: row[read] as number,
      microDollars: row[money] as number,
    };
    yield {
      organizationId: row[organization] as string,
      projectId: row[project] as string,
      keyId: row[key] as string,
      model: row[model] as string,
      at: row[at] as number,
      sum,
    };
  }
}

const isCount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
const isText = (value: unknown, longest: number): boolean => typeof value === 'string' && value.length <= longest;
/** These become keys of rows, whose length is limited. */
const [longestId, longestModel] = [100, 200];
const isId = (value: unknown): boolean => isText(value, longestId);

/** Money in micro-dollars. */
export interface UsageSum {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cacheCreation: number;
  readonly cacheRead: number;
  readonly microDollars: number;
}

export const sumFields = [
  'requests',
  'input',
  'output',
  'cacheCreation',
  'cacheRead',
  'microDollars',
] as const satisfies readonly (keyof UsageSum)[];

/** @param counts in the order of `sumFields` */
export const sumOf = (counts: readonly number[]): UsageSum => {
  const [requests = 0, input = 0, output = 0, cacheCreation = 0, cacheRead = 0, microDollars = 0] = counts;
  return { requests, input, output, cacheCreation, cacheRead, microDollars };
};

/** On `usageTotal-organizations`: lifetime sums, up to the previous event that names the same id (zero in the first). */
export interface UsageTotalled {
  readonly type: 'usage.totalled';
  readonly fields: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Of an organization, project or key. */
export interface UsageTotal {
  readonly id: string;
  readonly sum: UsageSum;
}

const totalFields = [
  'organization_id',
  'requests',
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'micro_dollars',
];

export const usageTotalled = (totals: readonly UsageTotal[]): Omit<UsageTotalled, 'type'> => ({
  fields: totalFields,
  rows: totals.map(({ id, sum }) => [id, ...sumFields.map((field) => sum[field])]),
});

export const totalsOf = (data: Readonly<Record<string, unknown>>): UsageTotal[] => {
  const { rows } = data as unknown as UsageTotalled;
  return rows.flatMap((row) => {
    if (!isId(row[0]) || !row.slice(1, totalFields.length).every(isCount) || row.length < totalFields.length) return [];
    const [id, ...counts] = row as [string, ...number[]];
    return [{ id, sum: sumOf(counts) }];
  });
};

/** On `price-models`: the price of a model from now on. */
export interface PriceDeclared {
  readonly type: 'price.declared';
  readonly price: string;
  readonly model: string;
  readonly pricing: Pricing;
}

export const usageStream = (at: number): string => `usage-${day(at)}`;
export const totalStream = 'usageTotal-organizations';
export const priceStream = 'price-models';
