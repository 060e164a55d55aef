import type { Millis } from '../../clock.ts';
import type { Price } from '../../domain/usage/charge.ts';
import { endOfPeriod } from '../../domain/usage/spend-limit.ts';
import type { Bound, Credit, CreditHold } from './credit.ts';
import { mostOf, type Opening } from './meter.ts';

/** What a request holds while it is in flight. */
export interface Claimed {
  /** Null where nothing bounds its cost. */
  readonly hold: CreditHold | null;
  /** Tokens of each answer that the request is to be sent with; null as it is. */
  readonly maximum: number | null;
}

/** Why a request is refused. */
export interface Lack {
  /** The bound that leaves the least. */
  readonly lacking: Bound;
  /** Micro-dollars. */
  readonly left: number;
  /** The least that the request would hold. */
  readonly needed: number;
  /** When the period of the limit ends; null if never. */
  readonly resetsAt: Millis | null;
}

export const isLack = (outcome: object): outcome is Lack => 'lacking' in outcome;

type Asked = Pick<Opening, 'estimatedTokens' | 'maxTokens' | 'longest' | 'cut' | 'images' | 'searches'>;

const unbounded: Claimed = { hold: null, maximum: null };

/**
 * Holds the dearest price of a request within all its bounds, or within none. Within a spend limit an answer without a maximum holds
 * the model's longest; if less is left, the request gets the maximum that this pays for (contract M.8).
 */
export const claim = (credit: Credit, of: readonly Bound[], price: Price, asked: Asked, at: Millis): Claimed | Lack => {
  if (of.length === 0) return unbounded;
  const { estimatedTokens, maxTokens, longest, cut, images, searches } = asked;
  const costOf = (output: number): number => mostOf(price, estimatedTokens, output, images, searches);
  const isLimited = of.some((each) => typeof each !== 'string');
  const most = costOf(isLimited ? longest : maxTokens);
  const hold = credit.hold(of, most, at);
  if (hold !== null) return { hold, maximum: null };
  const found = tightest(credit, of, at);
  if (!isLimited || cut === undefined) return { ...found, needed: most };
  const { answers, least } = cut;
  const fits = (each: number): boolean => costOf(each * answers) <= found.left;
  const maximum = largest(least, Math.floor(longest / answers), fits);
  const cutHold = maximum === null ? null : credit.hold(of, costOf(maximum * answers), at);
  return cutHold === null ? { ...found, needed: costOf(least * answers) } : { hold: cutHold, maximum };
};

const tightest = (credit: Credit, of: readonly Bound[], at: Millis): Omit<Lack, 'needed'> => {
  let lacking = of[0]!;
  let left = credit.leftOf(lacking, at);
  for (const each of of.slice(1)) {
    const further = credit.leftOf(each, at);
    if (further < left) [lacking, left] = [each, further];
  }
  return { lacking, left, resetsAt: typeof lacking === 'string' ? null : endOfPeriod(lacking.limit.interval, at) };
};

/** The largest number of the span that fits, if all below a fitting one do; null if none. */
const largest = (least: number, most: number, fits: (count: number) => boolean): number | null => {
  if (least > most || !fits(least)) return null;
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
};
