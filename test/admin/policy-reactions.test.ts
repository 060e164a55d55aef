import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { policyReactions } from '../../src/admin/policies/policy-reactions.ts';
import { sweeper } from '../../src/admin/sweep.ts';
import { defaultTerms } from '../../src/domain/policy/policy-terms.ts';
import { startReactors } from '../../src/kernel/followers/reactor.ts';
import { gist } from './ask.ts';
import { context, policiesStage } from './policies-stage.ts';

let at: Awaited<ReturnType<typeof policiesStage>>;
/** While true, no end of an admission reaches the store. */
let isCut: boolean;

beforeEach(async () => {
  isCut = false;
  at = await policiesStage({
    fault: (_, [event]) => (isCut && event?.type === 'organization.policy_ended' ? 'lost' : 'none'),
  });
});
afterEach(() => at.close());

const admitted = async (): Promise<string[]> => {
  const { state } = await at.admin.aggregates.organization.dispatch(
    'org_1',
    'endPolicy',
    { policyId: 'nobody' },
    context,
  );
  return state.data.policies.ids();
};
const ends = () => at.store.log.filter(({ type }) => type === 'organization.policy_ended');

describe('a deleted policy', () => {
  test('is counted no more by the time of the answer', async () => {
    const id = await at.made();
    expect(await admitted()).toEqual([id]);
    await at.remove(id, 1);
    expect(await admitted()).toEqual([]);
  });
  test('is deleted although its organization could not be told, and the reaction tells it later, once', async () => {
    const [gone, kept] = [await at.made(), await at.made()];
    isCut = true;
    expect(await gist(at.remove(gone, 1))).toBe('200');
    expect(await admitted()).toEqual([gone, kept]);
    isCut = false;
    const parts = { dir: join(at.dir, 'reactors'), store: at.store, logId: 'log', retryMs: 1 };
    const reactors = await startReactors({ ours: (batch) => batch, ...parts, reactors: [policyReactions(at.admin)] });
    await expect.poll(admitted).toEqual([kept]);
    await reactors.close();
    expect(ends().map(({ data }) => data)).toEqual([{ policy_id: gone }]);
    expect(ends()[0]?.metadata).toMatchObject({ actor: { type: 'system', id: 'reactions' } });
  });
});

describe('an admission whose policy never came', () => {
  const issue = (policyId: string) =>
    at.admin.aggregates.organization.dispatch('org_1', 'issuePolicy', { policyId }, context);
  test('ends after ten minutes, not before, and never one whose policy is there', async () => {
    const made = await at.made();
    const { position } = await issue('pol_gone');
    await at.admin.models.reached(position as bigint, 2000);
    at.clock.at += 599_999;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual([made, 'pol_gone']);
    at.clock.at += 1;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual([made]);
  });
  test('admitted again by its reservation and abandoned again, ends again', async () => {
    for (const times of [1, 2]) {
      const { position } = await issue('pol_gone');
      await at.admin.models.reached(position as bigint, 2000);
      at.clock.at += 600_000;
      await sweeper(at.admin)();
      expect(await admitted()).toEqual([]);
      expect(ends()).toHaveLength(times);
      await at.admin.models.reached(ends().at(-1)?.position as bigint, 2000);
    }
  });
  test('comes after all when its own stream is made', async () => {
    await issue('pol_late');
    const input = {
      organizationId: 'org_1',
      name: 'late',
      description: '',
      terms: { ...defaultTerms, rule: 'true' },
      at: 1,
    };
    const { position } = await at.admin.aggregates.policy.dispatch('pol_late', 'create', input, context);
    await at.admin.models.reached(position as bigint, 2000);
    at.clock.at += 600_000;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual(['pol_late']);
  });
});
