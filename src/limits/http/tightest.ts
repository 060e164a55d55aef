import type { WindowRecord } from '../record/record.ts';

/** One window: a record and a metric. */
export interface Window {
  readonly record: WindowRecord;
  readonly metric: number;
}

/**
 * Of two metrics of advanced records the window with the smallest part left: key before project before organization and
 * minute before day where parts are equal (contract F.5). The parts are true quotients, not products with an inverse: equal
 * parts of different limits must be equal numbers.
 *
 * @param ownOnly looks at the key's own windows alone
 */
export const tightest = (key: WindowRecord, minute: number, day: number, ownOnly: boolean): Window => {
  let least = Number.POSITIVE_INFINITY;
  let found = { record: key, metric: minute };
  for (let record: WindowRecord | null = key; record !== null; record = ownOnly ? null : record.parent) {
    for (let metric = minute; metric <= day; metric += day - minute) {
      const limit = record.limit(metric);
      if (limit === 0) continue;
      const part = Math.max(0, limit - record.used(metric)) / limit;
      if (part >= least) continue;
      least = part;
      found = { record, metric };
    }
  }
  return found;
};
