import type { CompiledRule } from './compile.ts';
import { type Outcome, timed } from './language/overtime.ts';
import type { RuleView } from './text/view.ts';

/** Calculates the rule's value here and now, within `millis` as far as the clock is looked at. Never throws. */
export const run = (
  rule: CompiledRule,
  view: RuleView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Outcome => {
  const outcome = timed(millis, () => rule.calculate({ ...view.variables, now: new Date(now) }));
  rule.forget();
  return outcome;
};

/** Where in the rule's text an error of the engine arose, in UTF-16 code units. */
export const failureAt = (error: unknown): number | undefined =>
  (error as { readonly range?: { readonly start: number } }).range?.start;
