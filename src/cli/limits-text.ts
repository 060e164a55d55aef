import { snakeCased } from '../admin/audit/history-object.ts';
import type { SpendLimit } from '../domain/usage/spend-limit.ts';
import { dollars } from './output.ts';

/** `60 requests per minute, 4 concurrent requests`. */
export const limitsText = (limits: object): string => {
  const own = Object.entries(limits).filter(([, value]) => value !== null);
  return own.map(([name, value]) => `${value} ${snakeCased(name).replaceAll('_', ' ')}`).join(', ') || 'none';
};

export const limitsByModel = (rows: Readonly<Record<string, object>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(rows).map(([model, limits]) => [model, limitsText(limits)]));

/** `$5.00 a month`. */
export const spendLimitText = (limit: SpendLimit | null): string => {
  if (limit === null) return 'none';
  return `${dollars(limit.amount)} ${limit.interval === 'total' ? 'in total' : `a ${limit.interval}`}`;
};
