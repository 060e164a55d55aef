import { isRefusal, type Refusal } from '../../errors.ts';
import type { Call, Need } from '../../http/route.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import type { TokenNeed } from '../account/counts.ts';
import type { EffectivePolicies } from '../policy/effective.ts';
import type { PolicyGuard } from '../policy/guard.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import { type Asked, askedOf, type LargeBody, type PassedBody, type ReadBody } from './body-reader.ts';
import { callableModel } from './callable-model.ts';
import type { Models } from './named-model.ts';
import { type LargeTask, type StrictTask, tokensOf, type WrittenTask } from './task.ts';

export type Task<Fields> = { readonly policies: EffectivePolicies | null; readonly hosted: ConnectedModel } & (
  | { readonly strict: StrictTask | WrittenTask; readonly passed: null }
  | { readonly strict: null; readonly passed: PassedBody<Fields> }
);

export type Asking<Rest, Fields> = Pick<
  Call<ProjectPrincipal, Record<string, never>, Record<string, never>, ReadBody<Rest, Fields>, undefined>,
  'body' | 'principal'
>;

export type Judge<Strict> = (body: Strict, hosted: ConnectedModel) => StrictTask | Refusal;

export const needOf = <Fields>({ strict, passed }: Task<Fields>): TokenNeed => strict ?? passed;

/** The model, then policies, then the body is judged (contract F.2). Credential and limits come before. */
export const admission = <Rest extends Asked, Strict extends Rest, Fields extends Asked>(
  models: Models,
  guard: Pick<PolicyGuard, 'meet'>,
  judge: Judge<Strict>,
) => {
  const resolve = ({ body, principal }: Asking<Rest, Fields>): Task<Fields> | Refusal => {
    const { model: name, policy_ids: named } = askedOf(body);
    const hosted = callableModel(models, name, principal);
    if (isRefusal(hosted)) return hosted;
    const policies = guard.meet(principal, named);
    if (policies !== null && isRefusal(policies)) return policies;
    if (body.passed !== null) return { policies, hosted, strict: null, passed: body.passed };
    // Present unless a thread has judged it.
    const strict = body.judged === undefined ? judge(body.strict as Strict, hosted) : body.judged;
    if (isRefusal(strict)) return strict;
    return { policies, hosted, strict: 'written' in strict ? writtenTask(strict, hosted) : strict, passed: null };
  };
  return {
    resolve,
    /** The reservation if a limit has refused already; 0 if the request itself is invalid. */
    tokens: ({
      body,
      principal,
    }: Omit<Asking<Rest, Fields>, 'body'> & { readonly body: ReadBody<Rest, Fields> | LargeBody }): Need => {
      if ('large' in body) return 'unknown';
      const task = resolve({ body, principal });
      return isRefusal(task) ? 0 : tokensOf(needOf(task));
    },
  };
};

const writtenTask = (
  { written, ...task }: LargeTask,
  { upstream, upstreamModel: model }: ConnectedModel,
): WrittenTask => ({
  ...task,
  upstream,
  request: { model, written },
});
