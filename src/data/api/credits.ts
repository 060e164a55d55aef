import { z } from 'zod';
import type { Millis } from '../../clock.ts';
import { fault } from '../../errors.ts';
import { type Route, route } from '../../http/route.ts';
import type { ProjectPrincipal } from '../access/principal.ts';

export interface Balance {
  readonly credits: number;
  readonly usage: number;
}

const creditBalance = z
  .object({ data: z.object({ total_credits: z.number(), total_usage: z.number() }) })
  .meta({ id: 'CreditBalance' });

const dollars = (micros: number): number => micros / 1_000_000;

/** Older balances are not shown (contract M.1). */
const oldestMs = 5_000;

/** `GET /v1/credits` (contract M.1), from the ledger. */
export const creditsRoute = (ledger: {
  readonly balanceOf: (organizationId: string) => Balance;
  readonly ageMs: () => Millis;
}): Route =>
  route<ProjectPrincipal>({
    method: 'GET',
    path: '/v1/credits',
    operation: 'retrieveCredits',
    summary: 'Read the credit balance of the organization, in US dollars',
    tag: 'Inference',
    family: 'models',
    access: { credential: 'project', permission: 'credits:read', limits: 'credits' },
    replies: {
      200: {
        description: 'The balance',
        schema: creditBalance,
      },
    },
    errors: ['credit_balance_unavailable'],
    handle({ principal }) {
      if (ledger.ageMs() > oldestMs) throw fault('credit_balance_unavailable');
      const { credits, usage } = ledger.balanceOf(principal.organizationId);
      return { status: 200, body: { data: { total_credits: dollars(credits), total_usage: dollars(usage) } } };
    },
  });
