import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  admittedPolicies,
  livePolicyRows,
  policies,
  policyKeyOf,
  policyOwners,
  policyRows,
  policyVersionRows,
} from '../../projections/policies.ts';
import { organization } from '../../src/domain/organization/organization.ts';
import { policy } from '../../src/domain/policy/policy.ts';
import { defaultTerms } from '../../src/domain/policy/policy-terms.ts';
import type { DomainEvent } from '../../src/kernel/aggregate/aggregate.ts';
import { actors, type Context } from '../../src/kernel/commands/actor.ts';
import type { CommandResult } from '../../src/kernel/commands/command.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
let store: MemoryStore;
let dir: string;
let models: ReadModels;
const open = () => openReadModels({ ours: (batch) => batch, dir, store, logId: 'log', projections: [policies] });

beforeEach(async () => {
  store = memoryStore();
  dir = mkdtempSync(join(tmpdir(), 'weir-policies-'));
  models = await open();
});
afterEach(async () => {
  await models.close();
  rmSync(dir, { recursive: true, force: true });
});

const settled = async <D extends object, F extends DomainEvent>(
  telling: Promise<CommandResult<D, F>>,
): Promise<CommandResult<D, F>> => {
  const told = await telling;
  if (told.position !== null) expect(await models.reached(told.position, 2000)).toBe(true);
  return told;
};
/** Tells a policy something and waits until the rows show it. */
const teller = () => {
  const aggregates = { organization: actors(organization, { store }), policy: actors(policy, { store }) };
  return {
    create: (id: string, organizationId: string) => {
      const terms = { ...defaultTerms, rule: 'true' };
      const input = { organizationId, name: id, description: '', terms, at: 1 };
      return settled(aggregates.policy.dispatch(id, 'create', input, context));
    },
    publish: (id: string, revision: number) =>
      settled(aggregates.policy.dispatch(id, 'publish', { revision, versionId: `polv_${revision}`, at: 2 }, context)),
    update: (id: string, revision: number, rule: string) =>
      settled(aggregates.policy.dispatch(id, 'update', { revision, changes: { rule }, at: 3 }, context)),
    pause: (id: string, revision: number) =>
      settled(aggregates.policy.dispatch(id, 'pause', { revision, at: 4 }, context)),
    delete: (id: string, revision: number) =>
      settled(aggregates.policy.dispatch(id, 'delete', { revision, at: 5 }, context)),
    organization: aggregates.organization,
  };
};
const key = policyKeyOf('org_1', 'pol_1');

describe('the rows of a policy', () => {
  test('are what its own stream says, after every event', async () => {
    const tell = teller();
    const steps = [
      () => tell.create('pol_1', 'org_1'),
      () => tell.publish('pol_1', 1),
      () => tell.update('pol_1', 2, 'false'),
      () => tell.pause('pol_1', 3),
      () => tell.publish('pol_1', 4),
    ];
    for (const step of steps) {
      const { state } = await step();
      expect(models.get(policyRows, key)).toEqual({ id: 'pol_1', ...state });
      expect(models.get(livePolicyRows, key)).toEqual({ id: 'pol_1', ...state });
    }
    expect(models.get(policyOwners, 'pol_1')).toEqual({ organizationId: 'org_1' });
  });
  test('stay as a tombstone when it is deleted, and are among the live ones no more', async () => {
    const tell = teller();
    await tell.create('pol_1', 'org_1');
    await tell.delete('pol_1', 1);
    expect(models.get(policyRows, key)).toMatchObject({ status: 'deleted' });
    expect(models.get(livePolicyRows, key)).toBeUndefined();
  });
  test('are under their organization alone', async () => {
    const tell = teller();
    await tell.create('pol_1', 'org_1');
    await tell.create('pol_2', 'org_2');
    await tell.create('pol_3', 'org_1');
    const idsOf = (prefix: string) => models.range(livePolicyRows, { prefix, limit: 10 }).map(({ row }) => row.id);
    expect(idsOf(policyKeyOf('org_1', ''))).toEqual(['pol_1', 'pol_3']);
    expect(idsOf(policyKeyOf('org_2', ''))).toEqual(['pol_2']);
  });
});

test('each version is kept as it was published', async () => {
  const tell = teller();
  await tell.create('pol_1', 'org_1');
  const first = await tell.publish('pol_1', 1);
  await tell.update('pol_1', 2, 'false');
  const second = await tell.publish('pol_1', 3);
  const rows = models.range(policyVersionRows, { prefix: 'pol_1:', limit: 10 });
  expect(rows).toEqual([
    { key: 'pol_1:polv_1', row: first.state.data.current },
    { key: 'pol_1:polv_3', row: second.state.data.current },
  ]);
  expect(rows.map(({ row }) => [row.version, row.rule])).toEqual([
    [1, 'true'],
    [2, 'false'],
  ]);
});

describe('an admission', () => {
  test('waits until the policy’s own stream comes, or the admission ends', async () => {
    const tell = teller();
    const org = tell.organization;
    await org.dispatch('org_1', 'create', { name: 'o', at: 1 }, context);
    for (const policyId of ['pol_1', 'pol_2', 'pol_3']) {
      await settled(org.dispatch('org_1', 'issuePolicy', { policyId }, context));
    }
    await tell.create('pol_1', 'org_1');
    await settled(org.dispatch('org_1', 'endPolicy', { policyId: 'pol_2' }, context));
    const waiting = models.range(admittedPolicies, { prefix: 'pol_', limit: 10 });
    expect(waiting).toEqual([{ key: 'pol_3', row: { organizationId: 'org_1', at: expect.any(Number) } }]);
  });
  test('that comes after the policy does not wait', async () => {
    const tell = teller();
    await tell.organization.dispatch('org_1', 'create', { name: 'o', at: 1 }, context);
    await tell.create('pol_1', 'org_1');
    await settled(tell.organization.dispatch('org_1', 'issuePolicy', { policyId: 'pol_1' }, context));
    expect(models.get(admittedPolicies, 'pol_1')).toBeUndefined();
  });
});

test('the rows are the same when they are built anew', async () => {
  const tell = teller();
  await tell.organization.dispatch('org_1', 'create', { name: 'o', at: 1 }, context);
  await settled(tell.organization.dispatch('org_1', 'issuePolicy', { policyId: 'pol_2' }, context));
  await tell.create('pol_1', 'org_1');
  await tell.publish('pol_1', 1);
  await tell.create('pol_3', 'org_1');
  await tell.delete('pol_3', 1);
  const everything = () =>
    policies.tables.map((each) => ['org_', 'pol_'].map((prefix) => models.range(each, { prefix, limit: 100 })));
  const before = everything();
  await models.close();
  rmSync(dir, { recursive: true, force: true });
  models = await open();
  expect(everything()).toEqual(before);
});
