import { isRefusal, type Refusal, refusal } from '../../errors.ts';
import { type Need, noNeed, unknownNeed } from '../../http/route.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import type { TokenNeed } from '../account/counts.ts';
import type { EffectivePolicies } from '../policy/effective.ts';
import type { PolicyGuard } from '../policy/guard.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import { callableModel } from './callable-model.ts';
import type { LargeBody } from './large-bodies.ts';
import type { Models } from './named-model.ts';
import { answersApi, isPassing, type PassingRules } from './passing.ts';
import type { Prepared, Sent } from './prepared.ts';

/** A request that may be judged by its policies and sent. */
export interface Admitted {
  readonly hosted: ConnectedModel;
  readonly policies: EffectivePolicies | null;
  readonly sent: Sent;
}

const tokensOf = ({ estimatedTokens, maxTokens }: TokenNeed): number => estimatedTokens + maxTokens;

/** The model, then the policies that are named, then the model's rules (contract F.2). Credential and limits come before. */
export const admission = (models: Models, guard: Pick<PolicyGuard, 'meet'>, as: PassingRules<unknown>['as']) => {
  const resolve = (asked: Prepared<unknown>, principal: ProjectPrincipal): Admitted | Refusal => {
    const hosted = callableModel(models, asked.model, principal);
    if (isRefusal(hosted)) return hosted;
    const policies = guard.meet(principal, asked.named);
    if (policies !== null && isRefusal(policies)) return policies;
    const { modelId, refusal: ruled, sent } = asked;
    // The models were replaced while a thread read it.
    if (modelId !== hosted.model.id) return refusal('model_not_found', { param: 'model' });
    if (ruled !== null) return ruled;
    if (sent === null || !answersApi(hosted, as) || ('body' in sent && !isPassing(hosted, as)))
      return refusal('model_not_found', { param: 'model' });
    return { hosted, policies, sent };
  };
  return {
    resolve,
    /** The reservation and its model if a limit has refused already; none if the request itself is invalid. */
    tokens: (call: { readonly body: Prepared<unknown> | LargeBody; readonly principal: ProjectPrincipal }): Need => {
      const { body, principal } = call;
      if ('large' in body) return unknownNeed;
      const admitted = resolve(body, principal);
      return isRefusal(admitted) ? noNeed : { tokens: tokensOf(body), model: admitted.hosted.model.id };
    },
  };
};
