import { priceOf } from './budget.ts';
import { type CompiledRule, failureIn } from './compile.ts';
import { maxNanosOnLoop } from './language/limits.ts';
import { failureAt, type RuleError, ruleError } from './rule-error.ts';
import { run } from './run.ts';
import { sampleTime, sampleViews } from './samples.ts';
import { failed, scoreOf } from './score.ts';

export type Trial = RuleError | null;

const failure = (rule: CompiledRule, at: number, sample: number, message: string): RuleError =>
  ruleError(rule.text, at, `The rule fails on sample request ${sample + 1}: ${message}`);

/** Where the trial may run, for all samples together, or why it fails without running. */
export const placeOfTrial = (rule: CompiledRule): 'loop' | 'worker' | RuleError => {
  let nanos = 0;
  let fits = true;
  for (const [number, view] of sampleViews(rule.direction).entries()) {
    const { place, nanos: own } = priceOf(rule, view);
    if (place !== 'loop' && place !== 'worker') return failure(rule, 0, number, place);
    fits &&= place === 'loop';
    nanos += own;
  }
  return fits && nanos <= maxNanosOnLoop ? 'loop' : 'worker';
};

/** Tries the rule on the samples (contract H) on this thread. @returns `late` after `millis` */
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
