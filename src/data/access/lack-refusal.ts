import { type Refusal, refusal } from '../../errors.ts';
import type { Lack } from '../account/claim.ts';

const perDollar = 1_000_000;
const dollars = (microDollars: number): number => Math.max(0, microDollars) / perDollar;
const shown = (microDollars: number): string => `$${dollars(microDollars)}`;

const names = { key: 'this API key', project: 'this project', organization: 'this organization' };
const codes = {
  key: 'api_key_spend_limit_exceeded',
  project: 'project_spend_limit_exceeded',
  organization: 'organization_spend_limit_exceeded',
} as const;
/** Of the refusals, by the scope of the limit. */
export const spendCodes = Object.values(codes);
const spans = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' };

/** The 402 of a request that may cost more than what is left (contract M.1, M.8). */
export const lackRefusal = ({ lacking, left, needed, resetsAt }: Lack): Refusal => {
  if (typeof lacking === 'string') return refusal('insufficient_credits');
  const { scope, limit } = lacking;
  const reset = resetsAt === null ? null : new Date(resetsAt).toISOString().replace('.000Z', 'Z');
  const message =
    `Spend limit exceeded: ${names[scope]} may spend ${shown(limit.amount)} ${spans[limit.interval]}. ` +
    `Beside requests in flight ${shown(left)} are left, and this request may cost ${shown(needed)}. ` +
    (reset === null ? 'The limit does not reset.' : `The limit resets at ${reset}.`);
  const limit_resets_at = resetsAt === null ? null : resetsAt / 1000;
  const about = { scope, limit: dollars(limit.amount), limit_remaining: dollars(left), limit_resets_at };
  return refusal(codes[scope], { message, about });
};
