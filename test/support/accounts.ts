import type { Accounts } from '../../src/access/leases.ts';
import { systemClock } from '../../src/clock.ts';
import { type Pricing, priceOf } from '../../src/domain/charge.ts';
import type { Settlement } from '../../src/domain/usage-facts.ts';
import type { Begun } from '../../src/usage/journal/entry.ts';
import { Meter } from '../../src/usage/meter.ts';

export const free: Pricing = {
  prompt: '0',
  completion: '0',
  input_cache_read: '0',
  input_cache_write: '0',
  image: '0',
  request: '0',
};

/** Accounts that are kept in memory, of models that all cost the same. */
export const memoryAccounts = (pricing: Partial<Pricing> = {}) => {
  const begun: Begun[] = [];
  const settled: Settlement[] = [];
  const journal = {
    begin: (each: Begun) => void begun.push(each),
    settle: (each: Settlement) => void settled.push(each),
  };
  return {
    begun,
    settled,
    isFull: false as boolean,
    begin: (asked) => new Meter(asked, priceOf(asked.model, { ...free, ...pricing }), journal, systemClock),
  } satisfies Accounts & { begun: Begun[]; settled: Settlement[] };
};
