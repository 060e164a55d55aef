import type { ProjectPrincipal } from '../../access/principal.ts';
import { isRefusal, type Refusal } from '../../errors.ts';
import type { Call } from '../../http/route.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { callableModel } from '../models/callable-model.ts';
import { type Asked, askedOf, type PassedBody, type ReadBody } from './body-reader.ts';
import { policyRefusal, type StrictTask, type TokenNeed, tokensOf } from './task.ts';

/** A valid request and who answers it. */
export type Task<Fields> =
  | { readonly strict: StrictTask; readonly passed: null }
  | { readonly strict: null; readonly passed: PassedBody<Fields> };

/** Who asks for what. */
export type Asking<Strict, Fields> = Pick<
  Call<ProjectPrincipal, Record<string, never>, Record<string, never>, ReadBody<Strict, Fields>, undefined>,
  'body' | 'principal'
>;

/** Judges a valid body by its model, which does not pass it on (contract F.2). */
export type Judge<Strict> = (body: Strict, hosted: ConnectedModel) => StrictTask | Refusal;

export const needOf = <Fields>({ strict, passed }: Task<Fields>): TokenNeed => strict ?? passed;

/**
 * Admits requests for models, of whatever API: resolves the model, then the policies, then judges the body by the model, then
 * reserves the tokens (contract F.2). The credential and its limits have been asked before.
 */
export const admission = <Strict extends Asked, Fields extends Asked>(
  models: ReadonlyMap<string, ConnectedModel>,
  judge: Judge<Strict>,
) => {
  const resolve = ({ body, principal }: Asking<Strict, Fields>): Task<Fields> | Refusal => {
    const { model: name, policy_ids: policies } = askedOf(body);
    const hosted = callableModel(models, name, principal);
    if (isRefusal(hosted)) return hosted;
    const refused = policyRefusal(policies);
    if (refused !== null) return refused;
    if (body.passed !== null) return body;
    const strict = judge(body.strict, hosted);
    return isRefusal(strict) ? strict : { strict, passed: null };
  };
  return {
    /** What a request would reserve that a limit has refused already; 0 for one that would be refused for itself. */
    tokens: (asking: Asking<Strict, Fields>): number => {
      const task = resolve(asking);
      return isRefusal(task) ? 0 : tokensOf(needOf(task));
    },
    admit: (
      asking: Asking<Strict, Fields> & { readonly allowance: { reserve(tokens: number): Refusal | undefined } },
    ): Task<Fields> | Refusal => {
      const task = resolve(asking);
      return isRefusal(task) ? task : (asking.allowance.reserve(tokensOf(needOf(task))) ?? task);
    },
  };
};
