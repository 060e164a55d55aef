import type { WindowRecord } from '../record/record.ts';

/**
 * The window with the smallest part left of two metrics, for advanced records. Of equal parts the inner scope and the minute come
 * first (contract F.5). The parts are quotients, because products with an inverse may differ for equal parts.
 * @param ownOnly uses the key's own windows only
 */
export const tightest = (key: WindowRecord, minute: number, day: number, ownOnly: boolean) => {
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
