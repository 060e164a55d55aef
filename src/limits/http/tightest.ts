import type { WindowRecord } from '../record/record.ts';
import { type Counted, nextOf } from '../window/ticket.ts';

/**
 * The window with the smallest part left of two metrics, for advanced records. Of equal parts the inner scope and the minute come
 * first (contract F.5). The parts are quotients, because products with an inverse may differ for equal parts.
 */
export const tightest = (counted: Counted, minute: number, day: number) => {
  let least = Number.POSITIVE_INFINITY;
  let found = { record: counted.key, metric: minute };
  for (let record: WindowRecord | null = counted.key; record !== null; record = nextOf(counted, record)) {
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
