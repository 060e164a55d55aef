import { placeFor } from './budget.ts';
import { type CompiledRule, failureIn } from './compile.ts';
import { evaluated } from './cost/quantity.ts';
import { maxNanosOnLoop } from './language/limits.ts';
import { failureAt, type RuleError, ruleError } from './rule-error.ts';
import { run } from './run.ts';
import { sampleTime, sampleViews } from './samples.ts';
import { failed, scoreOf } from './score.ts';
import { sizeIn } from './text/view-sizes.ts';

/** Why a rule fails its trial; null where it passes. */
export type Trial = RuleError | null;

const failure = (rule: CompiledRule, at: number, sample: number, message: string): RuleError =>
  ruleError(rule.text, at, `The rule fails on sample request ${sample + 1}: ${message}`);

/** Where the trial of a rule may run, or why there need not be one. It is judged as a whole: three samples take their time together. */
export const placeOfTrial = (rule: CompiledRule): 'loop' | 'worker' | RuleError => {
  let nanos = 0;
  let fits = true;
  for (const [number, view] of sampleViews(rule.direction).entries()) {
    const place = placeFor(rule, view);
    if (place !== 'loop' && place !== 'worker') return failure(rule, 0, number, place);
    fits &&= place === 'loop';
    nanos += evaluated(rule.cost.nanos, (name) => sizeIn(view, name));
  }
  return fits && nanos <= maxNanosOnLoop ? 'loop' : 'worker';
};

/**
 * The trial (contract H), here and now: what fails on an ordinary request is no rule.
 * @returns `late` where the time was over before there was a result
 */
export const trialHere = (rule: CompiledRule, millis: number = Number.POSITIVE_INFINITY): Trial | 'late' => {
  const end = performance.now() + millis;
  for (const [number, view] of sampleViews(rule.direction).entries()) {
    const outcome = run(rule, view, sampleTime, end - performance.now());
    if ('error' in outcome && outcome.late) return 'late';
    const verdict = 'value' in outcome ? scoreOf(outcome.value) : failed(failureIn(outcome.error));
    if (verdict.verdict === 'score') continue;
    return failure(rule, 'error' in outcome ? (failureAt(outcome.error) ?? 0) : 0, number, verdict.message);
  }
  return null;
};
