import type { Millis } from '../clock.ts';
import type { Claimed, Lack } from '../data/account/claim.ts';
import type { Bound, Spendable } from '../data/account/credit.ts';
import { type Interval, periodAt, startOf } from '../domain/usage/period.ts';
import { type Refusal, refusal } from '../errors.ts';

export interface SpendLimit {
  readonly microDollars: number;
  readonly interval: Interval | 'total';
}

export interface Limited extends Spendable {
  /** Of a key: the first of its chain of rotations. */
  readonly id: string;
  readonly scope: 'key' | 'project' | 'organization';
  readonly limit: SpendLimit;
}

/** Asked for each request. */
export interface SpendSource {
  /** One shared list where there is none. @param line the first key of its chain of rotations */
  limitsOf(line: string, project: string, organization: string): readonly Limited[];
}

const none: readonly Limited[] = Object.freeze([]);
export const noSpendLimits: SpendSource = { limitsOf: () => none };

export const isLack = <B extends Bound>(claimed: Claimed | Lack<B>): claimed is Lack<B> => 'lacking' in claimed;

const perDollar = 1_000_000;
const dollars = (microDollars: number): string => `$${Math.max(0, microDollars) / perDollar}`;

const nameOf = { key: 'this API key', project: 'the project', organization: 'the organization' };
const perInterval = { day: ' a day', week: ' a week', month: ' a month', total: ' in all' };

/** When its running period ends; null if it has none. */
const resetOf = ({ interval }: SpendLimit, at: Millis): Millis | null =>
  interval === 'total' ? null : startOf(interval, periodAt(interval, at) + 1);

/** The 402 of a request that may cost more than what is left (contract M.1, M.7). */
export const lackRefusal = ({ lacking, left, needed }: Lack<string | Limited>, at: Millis): Refusal => {
  if (typeof lacking === 'string') return refusal('insufficient_credits');
  const { scope, limit } = lacking;
  const reset = resetOf(limit, at);
  const resets = reset === null ? null : new Date(reset).toISOString().replace('.000Z', 'Z');
  const message =
    `Spend limit exceeded: ${nameOf[scope]} may spend ${dollars(limit.microDollars)}${perInterval[limit.interval]}, ` +
    `and ${dollars(left)} of it are left beside requests in flight. This request may cost ${dollars(needed)}. ` +
    (resets === null ? 'The limit does not reset.' : `The limit resets at ${resets}.`);
  const about = {
    scope,
    limit: limit.microDollars / perDollar,
    limit_remaining: Math.max(0, left) / perDollar,
    ...(resets !== null && { limit_reset: resets }),
  };
  return refusal('spend_limit_exceeded', { message, about });
};
