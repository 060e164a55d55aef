import { type EvaluationPlace, nanosOf, placeFor } from './budget.ts';
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

/** What two copies of one text come to: a match in either is one, and an error only where there is none (contract N16). */
const together = (plain: Verdict, folded: Verdict, atLeast: number): Verdict => {
  if (plain.verdict === 'error') return isMatch(folded, atLeast) ? folded : plain;
  if (folded.verdict === 'error') return isMatch(plain, atLeast) ? plain : folded;
  return plain.scoreBasisPoints >= folded.scoreBasisPoints ? plain : folded;
};

const tooLarge = (place: EvaluationPlace): Verdict | null =>
  place === 'loop' || place === 'worker' ? null : failed(`${place} for this rule`);

/** Where both copies may be evaluated together, and how long that may take at the worst, in nanoseconds. */
export const costOfBoth = (
  rule: CompiledRule,
  view: RuleView,
): { readonly place: EvaluationPlace; readonly nanos: number } => {
  const plain = { place: placeFor(rule, view), nanos: nanosOf(rule, view) };
  if (plain.place !== 'loop' || !differs(view, rule.reads)) return plain;
  const place = placeFor(rule, view.folded);
  return { place: place === 'loop' ? 'loop' : 'worker', nanos: plain.nanos + nanosOf(rule, view.folded) };
};

/**
 * Evaluates a rule on the text and on its folded copy, on this thread and within `millis` for the two.
 * @returns null when the time ran out
 */
export const bothCopies = (
  { rule, atLeast }: JudgedRule,
  view: RuleView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Verdict | null => {
  const end = millis === Number.POSITIVE_INFINITY ? millis : performance.now() + millis;
  const plain = tooLarge(placeFor(rule, view)) ?? verdictHere(rule, view, now, millis);
  if (plain === null || isMatch(plain, highest) || !differs(view, rule.reads)) return plain;
  const left = millis === Number.POSITIVE_INFINITY ? millis : end - performance.now();
  const folded = tooLarge(placeFor(rule, view.folded)) ?? verdictHere(rule, view.folded, now, left);
  return folded && together(plain, folded, atLeast);
};
