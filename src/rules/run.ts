import type { CompiledRule } from './compile.ts';
import { type Outcome, timed } from './language/overtime.ts';
import type { TextView } from './text/view.ts';

/** Calculates the rule's value here and now, within `millis` as far as the clock is looked at. Never throws. */
export const run = (
  rule: CompiledRule,
  view: TextView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Outcome => {
  const outcome = timed(millis, () => rule.calculate({ ...view.variables, now: new Date(now) }));
  rule.forget();
  return outcome;
};
