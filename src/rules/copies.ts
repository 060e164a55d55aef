import { type EvaluationPlace, type Price, priceOf } from './budget.ts';
import type { CompiledRule } from './compile.ts';
import { failed, isMatch, type Verdict } from './score.ts';
import { differs } from './text/fields.ts';
import type { RuleView } from './text/view.ts';
import { verdictHere } from './verdict.ts';

/** A rule, and the score in basis points from which it matches. */
export interface JudgedRule {
  readonly rule: CompiledRule;
  readonly atLeast: number;
}

/** With the highest score the other copy is not needed. */
const highest = 10_000;

/** A match in either copy counts; an error counts only without a match (contract H). */
const together = (plain: Verdict, folded: Verdict, atLeast: number): Verdict => {
  if (plain.verdict === 'error') return isMatch(folded, atLeast) ? folded : plain;
  if (folded.verdict === 'error') return isMatch(plain, atLeast) ? plain : folded;
  return plain.scoreBasisPoints >= folded.scoreBasisPoints ? plain : folded;
};

const isTooLarge = (place: EvaluationPlace): boolean => place !== 'loop' && place !== 'worker';

/** The verdict for a view that is too large for the rule; null otherwise. */
export const tooLarge = (place: EvaluationPlace): Verdict | null =>
  isTooLarge(place) ? failed(`${place} for this rule`) : null;

/** Where both copies can be evaluated together, and the upper bound in nanoseconds. */
export const costOfBoth = (rule: CompiledRule, view: RuleView): Price => {
  const plain = priceOf(rule, view);
  if (isTooLarge(plain.place) || !differs(view, rule.reads)) return plain;
  const folded = priceOf(rule, view.folded);
  const place = plain.place === 'loop' || isTooLarge(folded.place) ? folded.place : plain.place;
  return { place, nanos: plain.nanos + folded.nanos };
};

/** Evaluates both copies on this thread, within `millis` in all. Check `costOfBoth` first. @returns null after that time */
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
