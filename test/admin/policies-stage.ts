import { projections } from '../../projections/all.ts';
import { policyRoutes } from '../../src/admin/policies/policies.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import type { MemoryOptions } from '../support/memory-store.ts';
import { type Answer, type AskOptions, asker, type Json } from './ask.ts';
import { stage } from './stage.ts';

export const base = '/v1/organization/policies';
export const context: Context = { actor: { type: 'system', id: 'test' } };

/**
 * Organization `org_1` with the active projects `proj_a` and `proj_b` and the archived `proj_old`, organization `org_2`
 * with `proj_foreign`, and the policy routes over them.
 */
export const policiesStage = async (options: MemoryOptions = {}, projected = projections) => {
  const set = await stage(options, projected);
  const { aggregates, models } = set.admin;
  for (const id of ['org_1', 'org_2'])
    await aggregates.organization.dispatch(id, 'create', { name: id, at: 1 }, context);
  const owned = [
    ['proj_a', 'org_1'],
    ['proj_b', 'org_1'],
    ['proj_old', 'org_1'],
    ['proj_foreign', 'org_2'],
  ] as const;
  for (const [id, organizationId] of owned) {
    await aggregates.project.dispatch(id, 'createOnce', { organizationId, name: id, at: 1 }, context);
  }
  const archived = await aggregates.project.dispatch('proj_old', 'archive', { at: 2 }, context);
  await models.reached(archived.position as bigint, 2000);
  const evaluator = openEvaluator();
  const ask = asker(policyRoutes(set.admin, evaluator, null));

  const create = (body: object = {}, more: AskOptions = {}): Promise<Answer> =>
    ask('POST', base, { body: { name: 'One', rule: 'true', ...body }, ...more });
  /** A new policy's id. */
  const made = async (body: object = {}): Promise<string> => {
    const answer = await create(body);
    if (answer.status !== 201) throw new Error(`expected a 201, got ${answer.status} ${answer.code} ${answer.message}`);
    return String(answer.body.id);
  };
  const act = (id: string, action: string, revision: number): Promise<Answer> =>
    ask('POST', `${base}/${id}/${action}`, { body: { revision } });
  const update = (id: string, body: object): Promise<Answer> => ask('POST', `${base}/${id}`, { body });
  /** A policy in force, at revision 2. */
  const live = async (body: object = {}): Promise<string> => {
    const id = await made(body);
    const answer = await act(id, 'publish', 1);
    if (answer.status !== 200) throw new Error(`expected a 200, got ${answer.status} ${answer.code}`);
    return id;
  };
  const eventsOf = (id: string): string[] =>
    set.store.log.filter(({ stream }) => stream === `policy-${id}`).map(({ type }) => type);

  return {
    ...set,
    ask,
    create,
    made,
    live,
    act,
    update,
    eventsOf,
    retrieve: (id: string): Promise<Answer> => ask('GET', `${base}/${id}`),
    remove: (id: string, revision: number): Promise<Answer> => ask('DELETE', `${base}/${id}?revision=${revision}`),
    async close() {
      await evaluator.close();
      await set.close();
    },
  };
};

export const dataOf = ({ body }: Answer): Json[] => body.data as Json[];
export const idsOf = (answer: Answer): unknown[] => dataOf(answer).map(({ id }) => id);
