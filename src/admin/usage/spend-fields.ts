import { z } from 'zod';
import type { Spend } from '../../../projections/spend.ts';
import { type Millis, seconds } from '../../clock.ts';
import { endOfPeriod } from '../../domain/usage/spend-limit.ts';

const dollars = (micros: number): number => micros / 1_000_000;

/** US dollars, of periods in UTC (contract M.7). */
export const spendFields = {
  usage: z.number().describe('US dollars, in all'),
  usage_daily: z.number(),
  usage_weekly: z.number().describe('Since Monday, in UTC'),
  usage_monthly: z.number(),
  usage_since: z.int().describe('When `usage` begins: at the creation, or where no earlier usage records were left'),
  limit: z.number().nullable().describe('Of its own; null if it has none'),
  limit_remaining: z.number().nullable(),
  limit_reset: z.enum(['daily', 'weekly', 'monthly']).nullable().describe('Null if it has no limit, or one in total'),
  limit_resets_at: z.int().nullable(),
};
type Fields = z.infer<z.ZodObject<typeof spendFields>>;

const resets = { day: 'daily', week: 'weekly', month: 'monthly', total: null } as const;

export const shownSpend = (spend: Spend, at: Millis): Fields => {
  const { limit, left } = spend;
  const end = limit && endOfPeriod(limit.interval, at);
  return {
    usage: dollars(spend.total),
    usage_daily: dollars(spend.day),
    usage_weekly: dollars(spend.week),
    usage_monthly: dollars(spend.month),
    usage_since: seconds(spend.since),
    limit: limit && dollars(limit.amount),
    limit_remaining: left === null ? null : dollars(left),
    limit_reset: limit && resets[limit.interval],
    limit_resets_at: end === null ? null : seconds(end),
  };
};
