import { type Refusal, refusal } from '../../errors.ts';
import { isBusy, type Verdict } from '../../rules/score.ts';
import type { PolicyInForce } from './effective.ts';

type Direction = 'request' | 'response';

export interface PolicyDecision {
  readonly policyId: string;
  readonly version: number;
  readonly direction: Direction;
  readonly verdict: 'monitored' | 'blocked' | 'error';
  /** 0..10000; null if the rule failed. */
  readonly scoreBasisPoints: number | null;
}

export interface Outcome {
  readonly refused: Refusal | null;
  /** For named policies that matched without blocking. */
  readonly headers: Readonly<Record<string, string>>;
  readonly decisions: readonly PolicyDecision[];
}

const noHeaders = Object.freeze({});
/** No match and no failure. */
const passed: Outcome = Object.freeze({ refused: null, headers: noHeaders, decisions: Object.freeze([]) });

const isMatch = ({ judged }: PolicyInForce, verdict: Verdict): boolean =>
  verdict.verdict === 'score' && verdict.scoreBasisPoints >= judged.atLeast;

const blockedBy = ({ id, name, version }: PolicyInForce, direction: Direction, hasMatched: boolean): Refusal => {
  const subject = direction === 'request' ? 'Request' : 'Response';
  return refusal(hasMatched ? 'policy_violation' : 'policy_evaluation_failed', {
    message: hasMatched
      ? `${subject} blocked by policy ${name}.`
      : `${subject} blocked: policy ${name} could not be evaluated.`,
    headers: { 'x-policy-decision': 'block', 'x-policy-id': id },
    about: { policy_id: id, version },
  });
};

/** No policy blocks, but one was not evaluated. */
const busy = refusal('server_busy', { message: 'As many policies are being evaluated as may be at once.' });

/**
 * Contract G.8: any match or failure of an enforcing policy blocks; a match goes before a failure, then the lowest id.
 * If one only had no turn, the request is refused as busy. @param policies by id, each with a verdict
 */
export const outcomeOf = (
  policies: readonly PolicyInForce[],
  verdicts: readonly Verdict[],
  direction: Direction,
  named: readonly string[],
): Outcome => {
  let matched: PolicyInForce | undefined;
  let failed: PolicyInForce | undefined;
  let hasNoTurn = false;
  const decisions: PolicyDecision[] = [];
  const told: string[] = [];
  for (let index = 0; index < policies.length; index += 1) {
    const policy = policies[index]!;
    const verdict = verdicts[index]!;
    const { id: policyId, version, isEnforcing } = policy;
    if (verdict.verdict === 'error') {
      if (isEnforcing && isBusy(verdict)) hasNoTurn = true;
      else if (isEnforcing) failed ??= policy;
      decisions.push({ policyId, version, direction, verdict: 'error', scoreBasisPoints: null });
    } else if (isMatch(policy, verdict)) {
      const { scoreBasisPoints } = verdict;
      if (isEnforcing) matched ??= policy;
      else if (named.includes(policyId)) told.push(`${policyId};v=${version};score=${scoreBasisPoints}`);
      decisions.push({
        policyId,
        version,
        direction,
        verdict: isEnforcing ? 'blocked' : 'monitored',
        scoreBasisPoints,
      });
    }
  }
  if (decisions.length === 0) return passed;
  const blocking = matched ?? failed;
  return {
    refused: blocking ? blockedBy(blocking, direction, matched !== undefined) : hasNoTurn ? busy : null,
    headers: told.length === 0 ? noHeaders : { 'x-policy-decision': 'monitor', 'x-policy-matches': told.join(', ') },
    decisions,
  };
};
