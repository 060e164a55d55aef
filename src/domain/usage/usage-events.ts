import type { Pricing, Taken } from './charge.ts';
import { day } from './day.ts';

/** What requests took and what that costs, as it is recorded in batches: no command leads to it and no chart admits it. */

/** Seconds that accounts of requests are kept, 400 days (contract M.5). What they come to is kept for as long as the log. */
export const accountSeconds = 400 * 24 * 3600;

/** In the words of the rules of policies (contract H). */
export type Api = 'messages' | 'chat.completions' | 'responses';

/**
 * Who has counted the tokens (contract M.2): `final`, the upstream, all of them; `partial`, the upstream a part; `estimated`,
 * nobody but Weir.
 */
export type UsageSource = 'final' | 'partial' | 'estimated';

/** The account of one request that was given to its upstream. There is exactly one. */
export interface Settlement extends Taken {
  readonly request_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly api: Api;
  readonly usage_source: UsageSource;
  /** The id of the price by which it was charged. */
  readonly price: string;
  readonly micro_dollars: number;
  /** Of the answer; 499 where the client left before it was complete, 500 where the gateway ended in the middle. */
  readonly status: number;
  /** Milliseconds: the moment, from the question to the upstream to it, and to the first part of the answer, if there was one. */
  readonly settled_at: number;
  readonly duration_ms: number;
  readonly first_token_ms: number | null;
}

type Value = Settlement[keyof Settlement];

/** On `usage-<day>`: the accounts of requests, of whichever organizations, as a table: names would be half of it. */
export interface UsageSettled {
  readonly type: 'usage.settled';
  readonly fields: readonly string[];
  /** An account each, its values in the order of `fields`. */
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

/** What few accounts have comes last, and in events only where one of them has it. */
const allFields = [...fields, 'details'] as const;

const blank = Object.fromEntries(fields.map((field) => [field, null])) as Record<string, unknown>;

/** The account that has these values. @param names of them, by default in an order that does not change */
export const accountOf = (row: readonly unknown[], names: readonly string[] = allFields): Settlement => {
  // A copy has its shape from the beginning: to make one of entries costs ten times as much, and there is one per request.
  const account = { ...blank };
  for (let i = 0; i < row.length; i++) account[names[i]!] = row[i];
  return account as unknown as Settlement;
};

export const usageSettled = (settlements: readonly Settlement[]): Omit<UsageSettled, 'type'> => {
  const named = settlements.some(({ details }) => details != null) ? allFields : fields;
  return { fields: named, rows: settlements.map((settlement) => named.map((field) => settlement[field] ?? null)) };
};

/** The requests that an event has the accounts of. */
export const settledIn = (data: Readonly<Record<string, unknown>>): string[] => {
  const { fields: names, rows } = data as unknown as UsageSettled;
  const place = names.indexOf('request_id');
  return rows.map((row) => row[place] as string);
};

export const settlementsOf = (data: Readonly<Record<string, unknown>>): Settlement[] => {
  const { fields: names, rows } = data as unknown as UsageSettled;
  return rows.map((row) => accountOf(row, names));
};

/** What is summed of an account. */
export interface Use {
  readonly organizationId: string;
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
  /** Milliseconds: the moment of its settlement. */
  readonly at: number;
  /** Of this one request. */
  readonly sum: UsageSum;
}

/** The same accounts without what no sum needs, at a third of the cost: every read model and each request passes here. */
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
    // We write none of less than nothing: it would be credit.
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
/** Rows of sums are kept by these, and a key of theirs has its bound. */
const [longestId, longestModel] = [100, 200];
const isId = (value: unknown): boolean => isText(value, longestId);

/** Sums of requests: how many, their tokens of four kinds, and micro-dollars. */
export interface UsageSum {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cacheCreation: number;
  readonly cacheRead: number;
  readonly microDollars: number;
}

/**
 * On `usageTotal-organizations`: all that organizations have ever used, which stays when the accounts are gone. An organization's sum
 * is that of its accounts in front of the last event before this one that names it: nothing, where this is the first. So whoever has read
 * the log up to here can tell which of the accounts that are still there are in it.
 */
export interface UsageTotalled {
  readonly type: 'usage.totalled';
  readonly fields: readonly string[];
  /** An organization each, with the values of its sum in the order of `fields`. */
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface UsageTotal {
  readonly organizationId: string;
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
  rows: totals.map(({ organizationId, sum }) => [
    organizationId,
    sum.requests,
    sum.input,
    sum.output,
    sum.cacheCreation,
    sum.cacheRead,
    sum.microDollars,
  ]),
});

export const totalsOf = (data: Readonly<Record<string, unknown>>): UsageTotal[] => {
  const { rows } = data as unknown as UsageTotalled;
  return rows.flatMap((row) => {
    if (!isId(row[0]) || !row.slice(1, totalFields.length).every(isCount) || row.length < totalFields.length) return [];
    const [organizationId, requests, input, output, cacheCreation, cacheRead, microDollars] = row as [
      string,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return [{ organizationId, sum: { requests, input, output, cacheCreation, cacheRead, microDollars } }];
  });
};

/** On `price-models`: what a model costs from now on, at the gateways that declare it so. */
export interface PriceDeclared {
  readonly type: 'price.declared';
  readonly price: string;
  readonly model: string;
  readonly pricing: Pricing;
}

export const usageStream = (at: number): string => `usage-${day(at)}`;
export const totalStream = 'usageTotal-organizations';
export const priceStream = 'price-models';
