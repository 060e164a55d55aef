import { NoThread } from '../threads/worker-thread.ts';
import { compileRule, isCompiled } from './compile.ts';
import type { Evaluator } from './evaluate.ts';
import type { Direction } from './language/variables.ts';
import type { RuleError } from './rule-error.ts';
import { leastRequest, leastResponse, sampleOwner, sampleTime } from './samples.ts';
import { isBusy, type Verdict } from './score.ts';
import type { RequestOwner, RequestText, ResponseText } from './text/request-text.ts';
import { requestView, responseView } from './text/view.ts';

/** Missing parts are taken from the least sample. */
export interface RuleSample {
  readonly request?: Partial<RequestText> | undefined;
  /** For the direction `response` only. */
  readonly response?: Partial<ResponseText> | undefined;
  readonly owner?: Partial<RequestOwner> | undefined;
  readonly now?: number | undefined;
}

/** The answer of `policies/validate` (contract B.7). */
export interface Validation {
  readonly valid: boolean;
  readonly type: 'bool' | 'double' | null;
  readonly errors: readonly RuleError[];
  /** The result for the given sample. */
  readonly result?: { readonly score_basis_points: number | null; readonly error: string | null };
}

/** @throws NoThread where none is free for the trial or the sample */
export const validateRule = async (
  {
    rule,
    direction,
    sample,
  }: { readonly rule: string; readonly direction: Direction; readonly sample?: RuleSample | undefined },
  evaluator: Evaluator,
): Promise<Validation> => {
  const compiled = compileRule(rule, direction);
  if (!isCompiled(compiled)) return { valid: false, type: null, errors: compiled };
  const failure = await evaluator.tryOut(compiled);
  if (failure !== null) return { valid: false, type: null, errors: [failure] };
  const valid = { valid: true, type: compiled.type, errors: [] } as const;
  if (sample === undefined) return valid;
  const ofRequest = requestView({ ...leastRequest, ...sample.request }, { ...sampleOwner, ...sample.owner });
  const view = direction === 'request' ? ofRequest : responseView(ofRequest, { ...leastResponse, ...sample.response });
  const verdict = await evaluator.evaluate(compiled, view, { now: sample.now ?? sampleTime });
  if (isBusy(verdict)) throw new NoThread('no thread was free for the sample');
  return { ...valid, result: resultOf(verdict) };
};

const resultOf = (verdict: Verdict): NonNullable<Validation['result']> =>
  verdict.verdict === 'score'
    ? { score_basis_points: verdict.scoreBasisPoints, error: null }
    : { score_basis_points: null, error: verdict.message };
