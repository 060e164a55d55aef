import type { Millis } from '../../clock.ts';
import type { Price } from '../../domain/usage/charge.ts';
import type { Bound, Credit, CreditHold } from './credit.ts';
import { mostOf, type Opening } from './meter.ts';

/** What a request holds while it is in flight. */
export interface Claimed {
  /** Null where nothing bounds its cost. */
  readonly hold: CreditHold | null;
  /** Tokens of its answer, or of each of its answers, that it is to be sent with; null as it is. */
  readonly maximum: number | null;
}

/** The tightest of the bounds that a request may exceed. */
export interface Lack<B extends Bound> {
  readonly lacking: B;
  readonly left: number;
  /** The least that it would hold. */
  readonly needed: number;
}

type Asked = Pick<Opening, 'estimatedTokens' | 'maxTokens' | 'longest' | 'cut' | 'images' | 'searches'>;

const unbounded: Claimed = { hold: null, maximum: null };

/**
 * Holds the dearest price of a request within all its bounds, or of none. Within a spend limit an answer without a maximum holds
 * the model's longest; if less is left, the request gets the maximum that this pays for (contract M.7).
 */
export const claim = <B extends Bound>(
  credit: Credit,
  of: readonly B[],
  price: Price,
  asked: Asked,
  at: Millis,
): Claimed | Lack<B> => {
  if (of.length === 0) return unbounded;
  const { estimatedTokens, maxTokens, longest, cut, images, searches } = asked;
  const costOf = (output: number): number => mostOf(price, estimatedTokens, output, images, searches);
  const isLimited = of.some((each) => typeof each !== 'string');
  const most = costOf(isLimited ? longest : maxTokens);
  const hold = credit.hold(of, most, at);
  if (hold !== null) return { hold, maximum: null };
  const { lacking, left } = tightest(credit, of, at);
  if (!isLimited || cut === undefined) return { lacking, left, needed: most };
  const { answers, least } = cut;
  const maximum = largest(least, Math.floor(longest / answers), (each) => costOf(each * answers) <= left);
  const cutHold = maximum === null ? null : credit.hold(of, costOf(maximum * answers), at);
  return cutHold === null ? { lacking, left, needed: costOf(least * answers) } : { hold: cutHold, maximum };
};

const tightest = <B extends Bound>(credit: Credit, of: readonly B[], at: Millis): { lacking: B; left: number } => {
  let lacking = of[0]!;
  let left = credit.leftOf(lacking, at);
  for (const each of of.slice(1)) {
    const further = credit.leftOf(each, at);
    if (further < left) [lacking, left] = [each, further];
  }
  return { lacking, left };
};

/** The largest number of the span that fits, if those below a fitting one do; null if none. */
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
