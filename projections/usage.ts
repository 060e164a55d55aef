import { isRecord } from '../src/domain/records.ts';
import { accountSeconds, totalStream, totalsOf, type UsageSum, usesIn } from '../src/domain/usage/usage-events.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { passing } from '../src/kernel/rows/row-sweep.ts';
import { type RowReader, table } from '../src/kernel/rows/rows.ts';
import type { Recorded } from '../src/kernel/store/store.ts';

/** What says up to which event it counts: it is written later than it changes, and may meet events again. */
interface Counted {
  readonly upTo: bigint;
}
/** Of one project, key and model. */
interface UsageRow {
  readonly projectId: string;
  readonly keyId: string;
  readonly model: string;
}
export interface UsageOfDay extends UsageRow, Counted {
  readonly sum: UsageSum;
}
export interface UsageOfHour extends UsageRow, Counted {
  /** One behind another, each minute of the hour in which requests ended and its sums: seven numbers (`minutesOf`). */
  readonly minutes: readonly number[];
}
export interface UsageOfAll extends Counted {
  readonly sum: UsageSum;
  /** As it stood at the last event that named the organization (`usage.totalled`), and what that event said. */
  readonly named: UsageSum;
  readonly told: UsageSum;
}
/** Of the last event that told totals. */
export interface UsageTold extends Counted {
  readonly revision: number;
  /** Milliseconds. */
  readonly at: number;
}

const minuteMs = 60_000;
const minutesOfHour = 60;
const minutesOfDay = 24 * minutesOfHour;

/** Key: `usagePrefix` with the day, then project, key and model. In UTC. */
export const usageDays = table<UsageOfDay>('usage-days');
/** Key: the same with the hour. */
export const usageHours = table<UsageOfHour>('usage-hours');
/** Key: organization. All that it ever used. */
export const usageTotals = table<UsageOfAll>('usage-totals');
const usageTold = table<UsageTold>('usage-told');
const last = 'last';

/** The last event that told totals; undefined before the first. */
export const lastTold = (models: Pick<RowReader, 'get'>): UsageTold | undefined => models.get(usageTold, last);

/** @param number of the day or hour since 1970 */
export const usagePrefix = (organizationId: string, number: number): string =>
  `${organizationId}:${String(number).padStart(9, '0')}:`;

/** Whether the accounts of all of a day or hour are gone by their age; its number stands in the key. */
const isOver =
  (unitMs: number) =>
  (key: string, _: object, now: number): boolean =>
    (Number(key.split(':')[1]) + 1) * unitMs + accountSeconds * 1000 <= now;

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

const since = (before: UsageSum, now: UsageSum): UsageSum => ({
  requests: now.requests - before.requests,
  input: now.input - before.input,
  output: now.output - before.output,
  cacheCreation: now.cacheCreation - before.cacheCreation,
  cacheRead: now.cacheRead - before.cacheRead,
  microDollars: now.microDollars - before.microDollars,
});

/** Of each number the greater one. */
const atLeast = (a: UsageSum, b: UsageSum): UsageSum => ({
  requests: Math.max(a.requests, b.requests),
  input: Math.max(a.input, b.input),
  output: Math.max(a.output, b.output),
  cacheCreation: Math.max(a.cacheCreation, b.cacheCreation),
  cacheRead: Math.max(a.cacheRead, b.cacheRead),
  microDollars: Math.max(a.microDollars, b.microDollars),
});

/** Numbers of one minute in an hour's row. */
const width = 7;

/** The minutes of an hour's row, each with its sums. */
export const minutesOf = ({ minutes }: UsageOfHour): (readonly [minute: number, sum: UsageSum])[] =>
  Array.from({ length: minutes.length / width }, (_, i) => {
    const [minute, requests, input, output, cacheCreation, cacheRead, microDollars] = minutes.slice(i * width) as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return [minute, { requests, input, output, cacheCreation, cacheRead, microDollars }];
  });

/** Adds a sum to one minute of them. */
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

/** What organizations have used, by the minute, hour and day in which their requests ended. */
export const usage: Projection = {
  name: 'usage',
  version: 3,
  categories: ['usage', 'usageTotal'],
  tables: [usageDays, usageHours, usageTotals, usageTold],
  isWrittenBehind: true,
  passing: [passing(usageDays, isOver(minutesOfDay * minuteMs)), passing(usageHours, isOver(minutesOfHour * minuteMs))],
  apply(event, rows) {
    if (!isRecord(event.type, event.data)) return;
    const { data, position, stream } = event;
    if (stream === totalStream) return applyTotals(event, rows);
    const totals = new Map<string, UsageSum>();
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
      for (const { sum } of minutes) totals.set(organizationId, addUse(totals.get(organizationId) ?? noUse, sum));
    }
    for (const [organizationId, sum] of totals) {
      const total = rows.get(usageTotals, organizationId);
      if (total !== undefined && total.upTo >= position) continue;
      const { sum: before, named, told } = total ?? noTotal;
      rows.put(usageTotals, organizationId, { upTo: position, sum: addUse(before, sum), named, told });
    }
  },
};

const noTotal = { sum: noUse, named: noUse, told: noUse };

/**
 * An organization's sum is what the event says of it, and what came since the event before that named it. With all accounts still there
 * that changes nothing; where the store has removed some it brings them back. It gives nobody credit: less than is known was not told by us.
 */
const applyTotals = ({ data, position, revision, metadata }: Recorded, rows: Rows): void => {
  for (const { organizationId, sum: told } of totalsOf(data)) {
    const total = rows.get(usageTotals, organizationId);
    if (total !== undefined && total.upTo >= position) continue;
    const { sum, named } = total ?? noTotal;
    const now = atLeast(sum, addUse(told, since(named, sum)));
    rows.put(usageTotals, organizationId, { upTo: position, sum: now, named: now, told });
  }
  if ((rows.get(usageTold, last)?.upTo ?? -1n) < position)
    rows.put(usageTold, last, { upTo: position, revision, at: metadata.at });
};

interface MinuteSum {
  /** The number of the minute since 1970. */
  readonly minute: number;
  sum: UsageSum;
}

/** What one event says of one key of a project and one model. */
interface Gathered {
  readonly organizationId: string;
  /** What follows the prefix of a key. */
  readonly place: string;
  readonly of: UsageRow;
  readonly minutes: MinuteSum[];
}

/** Minutes by the hour or day that they are in. @param length of it in minutes */
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
