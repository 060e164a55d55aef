import { type Settlement, settlementsOf, totalStream, totalsOf, type UsageSum } from '../src/domain/usage-facts.ts';
import type { Projection, Rows } from '../src/kernel/projection.ts';
import { type RowReader, table } from '../src/kernel/rows.ts';
import type { Recorded } from '../src/kernel/store.ts';

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

const useOf = (settlement: Settlement): UsageSum => ({
  requests: 1,
  input: settlement.input_tokens,
  output: settlement.output_tokens,
  cacheCreation: settlement.cache_creation_input_tokens,
  cacheRead: settlement.cache_read_input_tokens,
  microDollars: settlement.micro_dollars,
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

/** The same with a sum added to one minute. */
const withMinute = (minutes: readonly number[], minute: number, sum: UsageSum): number[] => {
  const all = minutes.slice();
  let at = all.length - width;
  while (at >= 0 && all[at] !== minute) at -= width;
  if (at < 0) at = all.push(minute, 0, 0, 0, 0, 0, 0) - width;
  const { requests, input, output, cacheCreation, cacheRead, microDollars } = sum;
  all[at + 1]! += requests;
  all[at + 2]! += input;
  all[at + 3]! += output;
  all[at + 4]! += cacheCreation;
  all[at + 5]! += cacheRead;
  all[at + 6]! += microDollars;
  return all;
};

/** What organizations have used, by the minute, hour and day in which their requests ended. */
export const usage: Projection = {
  name: 'usage',
  version: 3,
  categories: ['usage', 'usageTotal'],
  tables: [usageDays, usageHours, usageTotals, usageTold],
  isHeld: true,
  apply(event, rows) {
    const { data, position, stream } = event;
    if (stream === totalStream) return applyTotals(event, rows);
    /** Rows that this event counts in. Others that count up to here have met it before. */
    const counting = new Set<string>();
    const counts = (key: string, row: Counted | undefined): boolean => {
      if (row !== undefined && row.upTo >= position) return counting.has(key);
      counting.add(key);
      return true;
    };
    for (const { organizationId, minute, place, of, sum } of gatheredIn(settlementsOf(data))) {
      const day = usagePrefix(organizationId, Math.floor(minute / minutesOfDay)) + place;
      const ofDay = rows.get(usageDays, day);
      if (counts(day, ofDay))
        rows.put(usageDays, day, { ...of, upTo: position, sum: addUse(ofDay?.sum ?? noUse, sum) });

      const hour = usagePrefix(organizationId, Math.floor(minute / minutesOfHour)) + place;
      const ofHour = rows.get(usageHours, hour);
      if (counts(hour, ofHour)) {
        const minutes = withMinute(ofHour?.minutes ?? [], minute % minutesOfHour, sum);
        rows.put(usageHours, hour, { ...of, upTo: position, minutes });
      }

      const total = rows.get(usageTotals, organizationId);
      if (counts(organizationId, total)) {
        const { sum: before, named, told } = total ?? noTotal;
        rows.put(usageTotals, organizationId, { upTo: position, sum: addUse(before, sum), named, told });
      }
    }
  },
};

const noTotal = { sum: noUse, named: noUse, told: noUse };

/**
 * An organization's sum is what the event says of it, and what came since the event before that named it. With all accounts still there
 * that changes nothing; where the store has removed some it brings them back.
 */
const applyTotals = ({ data, position, revision, metadata }: Recorded, rows: Rows): void => {
  for (const { organizationId, sum: told } of totalsOf(data)) {
    const total = rows.get(usageTotals, organizationId);
    if (total !== undefined && total.upTo >= position) continue;
    const { sum, named } = total ?? noTotal;
    const now = addUse(told, since(named, sum));
    rows.put(usageTotals, organizationId, { upTo: position, sum: now, named: now, told });
  }
  if ((rows.get(usageTold, last)?.upTo ?? -1n) < position)
    rows.put(usageTold, last, { upTo: position, revision, at: metadata.at });
};

/** What of one event goes to the same minute, project, key and model of an organization. */
interface Gathered {
  readonly organizationId: string;
  /** The number of the minute since 1970. */
  readonly minute: number;
  /** What follows the prefix of a key. */
  readonly place: string;
  readonly of: UsageRow;
  sum: UsageSum;
}

const gatheredIn = (settlements: readonly Settlement[]): Iterable<Gathered> => {
  const all = new Map<string, Gathered>();
  for (const settlement of settlements) {
    const { organization_id: organizationId, project_id: projectId, key_id: keyId, model } = settlement;
    const minute = Math.floor(settlement.settled_at / minuteMs);
    const place = `${projectId}:${keyId}:${model}`;
    const whole = `${minute} ${organizationId} ${place}`;
    const before = all.get(whole);
    const sum = useOf(settlement);
    if (before) before.sum = addUse(before.sum, sum);
    else all.set(whole, { organizationId, minute, place, of: { projectId, keyId, model }, sum });
  }
  return all.values();
};
