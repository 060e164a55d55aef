import { type Settlement, settlementsOf } from '../src/domain/usage-facts.ts';
import type { Projection, Rows } from '../src/kernel/projection.ts';
import { table } from '../src/kernel/rows.ts';

/** Sums of requests: how many, their tokens of four kinds, and micro-dollars. */
export interface UsageSum {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cacheCreation: number;
  readonly cacheRead: number;
  readonly microDollars: number;
}

/** Of one project, key and model. */
interface UsageRow {
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
}
export interface UsageOfDay extends UsageRow {
  readonly sum: UsageSum;
}
export interface UsageOfHour extends UsageRow {
  /** By minute of the hour, those in which requests ended. */
  readonly minutes: Readonly<Record<number, UsageSum>>;
}

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Key: `usageKeyOf` with the day, project, key and model. In UTC. */
export const usageDays = table<UsageOfDay>('usage-days');
/** Key: the same with the hour. */
export const usageHours = table<UsageOfHour>('usage-hours');
/** Key: organization. All that it ever used. */
export const usageTotals = table<UsageSum>('usage-totals');

/** @param number of the day or hour since 1970 */
export const usagePrefix = (organizationId: string, number: number): string =>
  `${organizationId}:${String(number).padStart(9, '0')}:`;

export const noUse: UsageSum = {
  requests: 0,
  input: 0,
  output: 0,
  cacheCreation: 0,
  cacheRead: 0,
  microDollars: 0,
};

export const addUse = (a: UsageSum, b: UsageSum): UsageSum => ({
  requests: a.requests + b.requests,
  input: a.input + b.input,
  output: a.output + b.output,
  cacheCreation: a.cacheCreation + b.cacheCreation,
  cacheRead: a.cacheRead + b.cacheRead,
  microDollars: a.microDollars + b.microDollars,
});

const useOf = (settlement: Settlement): UsageSum => ({
  requests: 1,
  input: settlement.input_tokens,
  output: settlement.output_tokens,
  cacheCreation: settlement.cache_creation_input_tokens,
  cacheRead: settlement.cache_read_input_tokens,
  microDollars: settlement.micro_dollars,
});

/** What organizations have used, by the minute, hour and day in which their requests ended. */
export const usage: Projection = {
  name: 'usage',
  version: 1,
  categories: ['usage'],
  tables: [usageDays, usageHours, usageTotals],
  apply(event, rows) {
    for (const gathered of gatheredIn(settlementsOf(event.data))) addTo(rows, gathered);
  },
};

/** What of one event goes to the same minute, project, key and model. */
interface Gathered extends UsageRow {
  readonly organizationId: string;
  /** The number of the minute since 1970. */
  readonly minute: number;
  sum: UsageSum;
}

const gatheredIn = (settlements: readonly Settlement[]): Iterable<Gathered> => {
  const all = new Map<string, Gathered>();
  for (const settlement of settlements) {
    const { organization_id: organizationId, project_id: projectId, key_id: keyId, model } = settlement;
    const minute = Math.floor(settlement.settled_at / minuteMs);
    const place = `${minute} ${organizationId} ${projectId} ${keyId} ${model}`;
    const before = all.get(place);
    const use = useOf(settlement);
    if (before) before.sum = addUse(before.sum, use);
    else all.set(place, { organizationId, projectId, keyId, model, minute, sum: use });
  }
  return all.values();
};

const addTo = (rows: Rows, { organizationId, projectId, keyId, model, minute, sum }: Gathered): void => {
  const of = { projectId, keyId, model };
  const at = minute * minuteMs;
  const place = `${projectId}:${keyId}:${model}`;
  const day = usagePrefix(organizationId, Math.floor(at / dayMs)) + place;
  rows.put(usageDays, day, { ...of, sum: addUse(rows.get(usageDays, day)?.sum ?? noUse, sum) });
  const hour = usagePrefix(organizationId, Math.floor(at / hourMs)) + place;
  const minutes = rows.get(usageHours, hour)?.minutes ?? {};
  const inHour = Math.floor((at % hourMs) / minuteMs);
  rows.put(usageHours, hour, { ...of, minutes: { ...minutes, [inHour]: addUse(minutes[inHour] ?? noUse, sum) } });
  rows.put(usageTotals, organizationId, addUse(rows.get(usageTotals, organizationId) ?? noUse, sum));
};
