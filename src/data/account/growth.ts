import type { Account } from '../../http/route.ts';
import type { TokenNeed } from './counts.ts';

/** Called with the answer's tokens so far. */
export type Growth = (outputTokens: number) => void;

/** Tokens by which a reservation grows (contract F.4). */
const step = 1024;

const bounded: Growth = () => {};

/** Keeps the reservation of an unbounded answer ahead of its length (contract F.4). */
export const growthOf = (
  account: Pick<Account, 'enlarge'>,
  { estimatedTokens, maxTokens, grows = false }: TokenNeed,
): Growth => {
  if (!grows) return bounded;
  let reserved = maxTokens;
  return (outputTokens) => {
    if (outputTokens <= reserved) return;
    reserved += Math.ceil((outputTokens - reserved) / step) * step;
    account.enlarge(estimatedTokens + reserved);
  };
};
