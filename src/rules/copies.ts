import { type EvaluationPlace, type Price, priceOf } from './budget.ts';
import type { CompiledRule } from './compile.ts';
import { failed, type Verdict } from './score.ts';
import { differs, type RuleView } from './text/view.ts';
import { verdictHere } from './verdict.ts';

/** A rule with the score from which it matches, in basis points. */
export interface JudgedRule {
  readonly rule: CompiledRule;
  readonly atLeast: number;
}

/** The highest score: the other copy cannot add to it. */
const highest = 10_000;

const isMatch = (verdict: Verdict, atLeast: number): boolean =>
  verdict.verdict === 'score' && verdict.scoreBasisPoints >= atLeast;

/** What two copies of one text come to: a match in either is one, and an error only where there is none (contract H). */
const together = (plain: Verdict, folded: Verdict, atLeast: number): Verdict => {
  if (plain.verdict === 'error') return isMatch(folded, atLeast) ? folded : plain;
  if (folded.verdict === 'error') return isMatch(plain, atLeast) ? plain : folded;
  return plain.scoreBasisPoints >= folded.scoreBasisPoints ? plain : folded;
};

const isTooLarge = (place: EvaluationPlace): boolean => place !== 'loop' && place !== 'worker';

/** What a request is told that is too large for a rule; null where it is not. */
export const tooLarge = (place: EvaluationPlace): Verdict | null =>
  isTooLarge(place) ? failed(`${place} for this rule`) : null;

/** Where both copies may be evaluated together, and how long that may take at the worst, in nanoseconds. */
export const costOfBoth = (rule: CompiledRule, view: RuleView): Price => {
  const plain = priceOf(rule, view);
  if (isTooLarge(plain.place) || !differs(view, rule.reads)) return plain;
  const folded = priceOf(rule, view.folded);
  const place = plain.place === 'loop' || isTooLarge(folded.place) ? folded.place : plain.place;
  return { place, nanos: plain.nanos + folded.nanos };
};

/**
 * Evaluates a rule on the text and on its folded copy, on this thread and within `millis` for the two.
 * Neither may be too large for it (`costOfBoth`).
 * @returns null when the time ran out
 */
export const bothCopies = (
  { rule, atLeast }: JudgedRule,
  view: RuleView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Verdict | null => {
  const end = millis === Number.POSITIVE_INFINITY ? millis : performance.now() + millis;
  const plain = verdictHere(rule, view, now, millis);
  if (plain === null || isMatch(plain, highest) || !differs(view, rule.reads)) return plain;
  const left = millis === Number.POSITIVE_INFINITY ? millis : end - performance.now();
  const folded = verdictHere(rule, view.folded, now, left);
  return folded && together(plain, folded, atLeast);
};
