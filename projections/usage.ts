import { isRecord } from '../src/domain/records.ts';
import { addSpent, type Interval, intervals, periodAt, type Spent, spentNothing } from '../src/domain/usage/period.ts';
import {
  accountSeconds,
  sumFields,
  sumOf,
  totalStream,
  totalsOf,
  type UsageSum,
  usesIn,
} from '../src/domain/usage/usage-events.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { passing } from '../src/kernel/rows/row-sweep.ts';
import { type RowReader, table } from '../src/kernel/rows/rows.ts';
import type { Recorded } from '../src/kernel/store/store.ts';

/** Rows are written later than they change, so events may be applied again: `upTo` skips them. */
interface Counted {
  readonly upTo: bigint;
}
interface UsageRow {
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
}
export interface UsageOfDay extends UsageRow, Counted {
  readonly sum: UsageSum;
}
export interface UsageOfHour extends UsageRow, Counted {
  /** Seven numbers for each minute with requests (`minutesOf`). */
  readonly minutes: readonly number[];
}
export interface UsageOfAll extends Counted {
  readonly sum: UsageSum;
  /** The sum at the last event that named it (`usage.totalled`), and the sum in that event. */
  readonly named: UsageSum;
  readonly told: UsageSum;
  /** Milliseconds; 0 if in none. */
  readonly toldAt: number;
  readonly spent: Readonly<Record<Interval, Spent>>;
}
export interface UsageTold extends Counted {
  readonly revision: number;
  /** Milliseconds. */
  readonly at: number;
  /** The first time that projects and keys were named; null before, and 0 if the first total of all named some. */
  readonly keysAt: number | null;
}

const minuteMs = 60_000;
const minutesOfHour = 60;
const minutesOfDay = 24 * minutesOfHour;

/** Key: `usagePrefix` with the day (UTC), then project, key and model. */
export const usageDays = table<UsageOfDay>('usage-days');
/** Key: the same with the hour. */
export const usageHours = table<UsageOfHour>('usage-hours');
/** Key: the id of an organization, project or key. */
export const usageTotals = table<UsageOfAll>('usage-totals');
export const usageTold = table<UsageTold>('usage-told');
const last = 'last';

export const lastTold = (models: Pick<RowReader, 'get'>): UsageTold | undefined => models.get(usageTold, last);

/** The totals of an earlier release name organizations alone, and none has named a project or key since. */
export const areTotalsBuilt = (models: Pick<RowReader, 'get'>): boolean => lastTold(models)?.keysAt === null;

/**
 * When the sums of projects and keys begin, in milliseconds; 0 for their creation. Earlier releases recorded totals of
 * organizations alone: sums were then built from the accounts that the log still had. A log without totals has all accounts.
 */
export const totalsBegin = (models: Pick<RowReader, 'get'>, now: number): number => {
  const told = lastTold(models);
  return told === undefined ? 0 : Math.max(0, (told.keysAt ?? now) - accountSeconds * 1000);
};

/** @param number of the day or hour since 1970 */
export const usagePrefix = (organizationId: string, number: number): string =>
  `${organizationId}:${String(number).padStart(9, '0')}:`;

/** Whether all accounts of a day or hour have expired; its number is in the key. */
const isOver =
  (unitMs: number) =>
  (key: string, _: object, now: number): boolean =>
    (Number(key.split(':')[1]) + 1) * unitMs + accountSeconds * 1000 <= now;

export const noUse: UsageSum = sumOf([]);

export const addUse = (a: UsageSum, b: UsageSum): UsageSum => ({
  requests: a.requests + b.requests,
  input: a.input + b.input,
  output: a.output + b.output,
  cacheCreation: a.cacheCreation + b.cacheCreation,
  cacheRead: a.cacheRead + b.cacheRead,
  microDollars: a.microDollars + b.microDollars,
});

const combined = (a: UsageSum, b: UsageSum, by: (x: number, y: number) => number): UsageSum =>
  sumOf(sumFields.map((field) => by(a[field], b[field])));

const width = 7;

export const minutesOf = ({ minutes }: UsageOfHour): (readonly [minute: number, sum: UsageSum])[] =>
  Array.from({ length: minutes.length / width }, (_, i) => {
    const [minute = 0, ...counts] = minutes.slice(i * width, (i + 1) * width);
    return [minute, sumOf(counts)];
  });

const addMinute = (all: number[], minute: number, sum: UsageSum): void => {
  let at = all.length - width;
  while (at >= 0 && all[at] !== minute) at -= width;
  if (at < 0) at = all.push(minute, 0, 0, 0, 0, 0, 0) - width;
  all[at + 1]! += sum.requests;
  all[at + 2]! += sum.input;
  all[at + 3]! += sum.output;
  all[at + 4]! += sum.cacheCreation;
  all[at + 5]! += sum.cacheRead;
  all[at + 6]! += sum.microDollars;
};

export const usage: Projection = {
  name: 'usage',
  version: 5,
  categories: ['usage', 'usageTotal'],
  tables: [usageDays, usageHours, usageTotals, usageTold],
  isWrittenBehind: true,
  passing: [passing(usageDays, isOver(minutesOfDay * minuteMs)), passing(usageHours, isOver(minutesOfHour * minuteMs))],
  apply(event, rows) {
    if (!isRecord(event.type, event.data)) return;
    const { data, position, stream } = event;
    if (stream === totalStream) return applyTotals(event, rows);
    const totals = new Map<string, MinuteSum[]>();
    for (const { organizationId, place, of, minutes } of gatheredIn(data)) {
      const { projectId, keyId, model } = of;
      for (const [day, some] of byUnit(minutes, minutesOfDay)) {
        const key = usagePrefix(organizationId, day) + place;
        const row = rows.get(usageDays, key);
        if (row !== undefined && row.upTo >= position) continue;
        let sum = row?.sum ?? noUse;
        for (const each of some) sum = addUse(sum, each.sum);
        rows.put(usageDays, key, { projectId, keyId, model, upTo: position, sum });
      }
      for (const [hour, some] of byUnit(minutes, minutesOfHour)) {
        const key = usagePrefix(organizationId, hour) + place;
        const row = rows.get(usageHours, key);
        if (row !== undefined && row.upTo >= position) continue;
        const all = row?.minutes.slice() ?? [];
        for (const each of some) addMinute(all, each.minute % minutesOfHour, each.sum);
        rows.put(usageHours, key, { projectId, keyId, model, upTo: position, minutes: all });
      }
      for (const id of [organizationId, projectId, keyId]) {
        const known = totals.get(id);
        if (known) known.push(...minutes);
        else totals.set(id, [...minutes]);
      }
    }
    for (const [id, minutes] of totals) {
      const total = rows.get(usageTotals, id);
      if (total !== undefined && total.upTo >= position) continue;
      rows.put(usageTotals, id, { ...withMinutes(total ?? noTotal, minutes), upTo: position });
    }
  },
};

const noTotal = {
  sum: noUse,
  named: noUse,
  told: noUse,
  toldAt: 0,
  spent: { day: spentNothing, week: spentNothing, month: spentNothing },
};

const withMinutes = (total: Omit<UsageOfAll, 'upTo'>, minutes: readonly MinuteSum[]): Omit<UsageOfAll, 'upTo'> => {
  let { sum } = total;
  const spent = { ...total.spent };
  for (const each of minutes) {
    sum = addUse(sum, each.sum);
    for (const interval of intervals) {
      const period = periodAt(interval, each.minute * minuteMs);
      spent[interval] = addSpent(spent[interval], period, each.sum.microDollars);
    }
  }
  return { ...total, sum, spent };
};

/** Restores sums whose accounts the store has removed, and never lowers one, which would be credit. */
const applyTotals = ({ data, position, revision, metadata }: Recorded, rows: Rows): void => {
  const all = totalsOf(data);
  for (const { id, sum: told } of all) {
    const total = rows.get(usageTotals, id);
    if (total !== undefined && total.upTo >= position) continue;
    const { sum, named, spent } = total ?? noTotal;
    const since = combined(sum, named, (now, before) => now - before);
    const now = combined(sum, addUse(told, since), Math.max);
    rows.put(usageTotals, id, { upTo: position, sum: now, named: now, told, toldAt: metadata.at, spent });
  }
  const before = rows.get(usageTold, last);
  if (before !== undefined && before.upTo >= position) return;
  const begin = before === undefined ? 0 : metadata.at;
  const keysAt = before?.keysAt ?? (all.some(({ id }) => !id.startsWith('org_')) ? begin : null);
  rows.put(usageTold, last, { upTo: position, revision, at: metadata.at, keysAt });
};

interface MinuteSum {
  /** Minutes since 1970. */
  readonly minute: number;
  sum: UsageSum;
}

interface Gathered {
  readonly organizationId: string;
  readonly place: string;
  readonly of: UsageRow;
  readonly minutes: MinuteSum[];
}

/** Groups by hour or day. @param length in minutes */
const byUnit = (
  minutes: readonly MinuteSum[],
  length: number,
): Iterable<readonly [unit: number, minutes: readonly MinuteSum[]]> => {
  const [only] = minutes;
  if (only !== undefined && minutes.length === 1) return [[Math.floor(only.minute / length), minutes]];
  const units = new Map<number, MinuteSum[]>();
  for (const each of minutes) {
    const unit = Math.floor(each.minute / length);
    const known = units.get(unit);
    if (known) known.push(each);
    else units.set(unit, [each]);
  }
  return units;
};

const gatheredIn = (data: Recorded['data']): Iterable<Gathered> => {
  const all = new Map<string, Gathered>();
  for (const { organizationId, projectId, keyId, model, at, sum } of usesIn(data)) {
    const place = `${projectId}:${keyId}:${model}`;
    const whole = `${organizationId}:${place}`;
    let gathered = all.get(whole);
    if (gathered === undefined) {
      gathered = { organizationId, place, of: { projectId, keyId, model }, minutes: [] };
      all.set(whole, gathered);
    }
    const minute = Math.floor(at / minuteMs);
    const known = gathered.minutes.find((each) => each.minute === minute);
    if (known) known.sum = addUse(known.sum, sum);
    else gathered.minutes.push({ minute, sum });
  }
  return all.values();
};
