import type { Clock } from '../../clock.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import type { RequestOwner, ResponseText } from '../../rules/text/request-text.ts';
import { type RuleView, responseView } from '../../rules/text/view.ts';
import type { EffectivePolicies, PoliciesInForce, PolicyInForce, PolicySubject } from './effective.ts';
import type { KeptRequests } from './kept-requests.ts';
import { type Outcome, outcomeOf, type PolicyDecision } from './outcome.ts';

export interface PolicyCaller extends PolicySubject {
  readonly id: string;
  readonly name: string;
  readonly projectName: string;
  readonly tier: number;
}

/** The decisions on one request. */
export interface Decided extends PolicySubject {
  readonly requestId: string;
  readonly apiKeyId: string;
  readonly at: number;
  readonly decisions: readonly PolicyDecision[];
}

/** Synchronous; drops what has no room. */
export type RecordDecisions = (decided: Decided) => void;

/** Judges requests and answers by the policies in force (contract G.8). */
export interface PolicyGuard {
  /** Null unless the operator keeps texts for replays. */
  readonly kept: KeptRequests | null;
  /** Null without policies in force, for two look-ups; a refusal for an invalid name. */
  meet(caller: PolicyCaller, named: readonly string[] | null | undefined): EffectivePolicies | Refusal | null;
  /** By the result of `meet`. A blocked request may not leave the gateway. */
  judge(asked: ToJudge): Outcome | Promise<Outcome>;
  /** Judges the complete answer. */
  judgeAnswer(asked: ToJudge, answer: ResponseText): Outcome | Promise<Outcome>;
}

export interface ToJudge {
  readonly policies: EffectivePolicies;
  readonly caller: PolicyCaller;
  readonly named: readonly string[];
  readonly requestId: string;
  readonly view: RuleView;
}

export const ownerOf = ({ id, name, projectId, projectName, organizationId, tier }: PolicyCaller): RequestOwner => ({
  project: { id: projectId, name: projectName },
  key: { id, name },
  org: { id: organizationId, tier },
});

/** Whether a policy holds the whole answer until it is judged. */
export const holdsAnswer = ({ response }: EffectivePolicies): boolean =>
  response.some(({ isEnforcing }) => isEnforcing);

/** Whether a response rule reads the request, which is then kept until the answer. */
export const looksBack = ({ response }: EffectivePolicies): boolean =>
  response.some(
    ({ judged }) => judged.rule === null || [...judged.rule.reads].some((path) => path.startsWith('request.')),
  );

/** Without policies. */
export const noPolicies: PolicyGuard = {
  kept: null,
  meet: (_, named) => (named?.length ? refusal('policy_not_found', { param: 'policy_ids.0' }) : null),
  judge: () => outcomeOf([], [], 'request', []),
  judgeAnswer: () => outcomeOf([], [], 'response', []),
};

export const policyGuard = (parts: {
  readonly inForce: PoliciesInForce;
  readonly evaluator: Pick<Evaluator, 'judge'>;
  readonly clock: Clock;
  readonly record: RecordDecisions;
  readonly kept?: KeptRequests | null;
}): PolicyGuard => {
  const { inForce, evaluator, clock, record, kept = null } = parts;

  const judge = (
    direction: 'request' | 'response',
    { caller, named, requestId, policies }: ToJudge,
    view: RuleView,
  ): Outcome | Promise<Outcome> => {
    const those: readonly PolicyInForce[] = policies[direction];
    const now = clock.wall();
    const verdicts = evaluator.judge(
      those.map(({ judged }) => judged),
      view,
      { now },
    );
    const concluded = (all: Awaited<typeof verdicts>): Outcome => {
      const outcome = outcomeOf(those, all, direction, named);
      if (outcome.decisions.length > 0) {
        const { organizationId, projectId, id: apiKeyId } = caller;
        record({ organizationId, projectId, apiKeyId, requestId, at: now, decisions: outcome.decisions });
      }
      return outcome;
    };
    return verdicts instanceof Promise ? verdicts.then(concluded) : concluded(verdicts);
  };

  return {
    kept,
    meet(caller, named) {
      const policies = inForce.of(caller);
      const refused = named == null || named.length === 0 ? null : inForce.refusalOf(caller, named);
      return refused ?? policies;
    },
    judge: (asked) => judge('request', asked, asked.view),
    judgeAnswer: (asked, answer) => judge('response', asked, responseView(asked.view, answer)),
  };
};
