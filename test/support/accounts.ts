import { type Clock, systemClock } from '../../src/clock.ts';
import type { Accounts } from '../../src/data/access/leases.ts';
import { claim, isLack } from '../../src/data/account/claim.ts';
import { Credit, type Funds } from '../../src/data/account/credit.ts';
import type { Begun } from '../../src/data/account/journal/entry.ts';
import { Meter } from '../../src/data/account/meter.ts';
import { noSpendLimits } from '../../src/data/account/spend-limits.ts';
import { type Pricing, priceOf } from '../../src/domain/usage/charge.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';

export const free: Pricing = {
  prompt: '0',
  completion: '0',
  input_cache_read: '0',
  input_cache_write: '0',
  image: '0',
  request: '0',
};

/** Of models that nobody has to pay for. */
export const noFunds: Funds = { balanceOf: () => 0, needsCredit: () => false };

export interface MemoryAccounts extends Accounts {
  readonly begun: Begun[];
  readonly settled: Settlement[];
  readonly credit: Credit;
  whyFull: string | undefined;
}

/** Accounts that are kept in memory, of models that all cost the same. */
export const memoryAccounts = (
  pricing: Partial<Pricing> = {},
  funds = noFunds,
  spend = noSpendLimits,
  clock: Clock = systemClock,
): MemoryAccounts => {
  const begun: Begun[] = [];
  const settled: Settlement[] = [];
  const credit = new Credit(funds);
  const journal = {
    begin: (each: Begun) => Promise.resolve(begun.push(each) > 0),
    settle: (each: Settlement) => Promise.resolve(settled.push(each) > 0),
  };
  return {
    begun,
    settled,
    credit,
    whyFull: undefined,
    begin(asked) {
      const price = priceOf(asked.model, { ...free, ...pricing });
      const { model, organizationId, projectId, line } = asked;
      const limits = spend.limitsOf(line, projectId, organizationId);
      const bounds = funds.needsCredit(model) ? [organizationId, ...limits] : limits;
      const claimed = claim(credit, bounds, price, asked, clock.wall());
      if (isLack(claimed)) return claimed;
      return new Meter({ asked, price, journal, clock, credit, ...claimed });
    },
  };
};
