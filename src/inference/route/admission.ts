import type { ProjectPrincipal } from '../../access/principal.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import type { Call } from '../../http/route.ts';
import type { EffectivePolicies } from '../../policies/effective.ts';
import type { PolicyGuard } from '../../policies/guard.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { callableModel } from '../models/callable-model.ts';
import { type Asked, askedOf, type PassedBody, type ReadBody } from './body-reader.ts';
import { type StrictTask, type TokenNeed, tokensOf } from './task.ts';

/** A valid request, who answers it, and the policies that it has to pass; null where there are none. */
export type Task<Fields> = { readonly policies: EffectivePolicies | null } & (
  | { readonly strict: StrictTask; readonly passed: null }
  | { readonly strict: null; readonly passed: PassedBody<Fields> }
);

/** Who asks for what. */
export type Asking<Strict, Fields> = Pick<
  Call<ProjectPrincipal, Record<string, never>, Record<string, never>, ReadBody<Strict, Fields>, undefined>,
  'body' | 'principal'
>;

/** Judges a valid body by its model, which does not pass it on (contract F.2). */
export type Judge<Strict> = (body: Strict, hosted: ConnectedModel) => StrictTask | Refusal;

export const needOf = <Fields>({ strict, passed }: Task<Fields>): TokenNeed => strict ?? passed;

/**
 * Resolves requests for models, of whatever API: the model, then the policies, then the body is judged by the model
 * (contract F.2). The credential and its limits have been asked before.
 */
export const admission = <Strict extends Asked, Fields extends Asked>(
  models: ReadonlyMap<string, ConnectedModel>,
  guard: Pick<PolicyGuard, 'meet'>,
  judge: Judge<Strict>,
) => {
  const resolve = ({ body, principal }: Asking<Strict, Fields>): Task<Fields> | Refusal => {
    const { model: name, policy_ids: named } = askedOf(body);
    const hosted = callableModel(models, name, principal);
    if (isRefusal(hosted)) return hosted;
    const policies = guard.meet(principal, named);
    if (policies !== null && isRefusal(policies)) return policies;
    if (body.passed !== null) return { policies, strict: null, passed: body.passed };
    const strict = judge(body.strict, hosted);
    return isRefusal(strict) ? strict : { policies, strict, passed: null };
  };
  return {
    resolve,
    /** What a request would reserve that a limit has refused already; 0 for one that would be refused for itself. */
    tokens: (asking: Asking<Strict, Fields>): number => {
      const task = resolve(asking);
      return isRefusal(task) ? 0 : tokensOf(needOf(task));
    },
  };
};
