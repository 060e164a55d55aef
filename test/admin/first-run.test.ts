import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { adminKeyRoutes } from '../../src/admin/keys/admin-keys.ts';
import { claimFirstRun } from '../../src/admin/organization/first-run-claim.ts';
import { sweeper } from '../../src/admin/sweep.ts';
import { firstRun } from '../../src/app/first-run.ts';
import { systemClock } from '../../src/clock.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import { newId } from '../../src/ids.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { onSignal } from '../../src/telemetry.ts';
import { asker, gist } from './ask.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'operator', id: 'jo' } };
let at: Awaited<ReturnType<typeof stage>>;
/** The number of the append that is lost, and those after it; zero is none. */
let lostFrom = 0;
let appends = 0;
let answerLost = false;
const labels = new Set<string>();

beforeEach(async () => {
  lostFrom = 0;
  appends = 0;
  labels.clear();
  at = await stage({
    async delay(label) {
      labels.add(label);
    },
    fault() {
      appends += 1;
      if (answerLost) return 'answer-lost';
      return lostFrom > 0 && appends >= lostFrom ? 'lost' : 'none';
    },
  });
});
afterEach(() => at.close());

/** A start of the gateway as far as its first run: what `first-run.json` holds then. */
const start = async () => {
  const begun = await firstRun(at.admin, at.dir, context);
  return begun.listening('http://127.0.0.1:1');
};
const settled = async ({ head }: { readonly head: bigint | null }): Promise<void> => {
  await at.admin.models.reached(head as bigint, 2000);
};

describe('a plan that was carried out is never carried out again', () => {
  test.each([
    ['with its project archived', 'project_id', 'archive'],
    ['with its organization suspended', 'organization_id', 'suspend'],
    ['with its organization closed', 'organization_id', 'close'],
  ] as const)('%s', async (_, subject, command) => {
    const plan = (await start())!;
    const { organization, project } = at.admin.aggregates;
    // As the reactions do, or an administrator with another key.
    if (command === 'archive') {
      await project.dispatch(plan[subject], command, { at: 1 }, context);
      await settled(await project.dispatch(plan[subject], 'endKey', { keyId: plan.project_api_key_id }, context));
    } else {
      await organization.dispatch(plan[subject], command, undefined, context);
      await settled(await organization.dispatch(plan[subject], 'dropAdminKeys', { most: 1 }, context));
    }
    const before = at.store.log.length;
    expect(await start()).toBeNull();
    expect(at.store.log).toHaveLength(before);
  });

  test('with its Admin key deleted: the last real key is then the last', async () => {
    const plan = (await start())!;
    const ask = asker(adminKeyRoutes(at.admin));
    const asking = { principal: { organizationId: plan.organization_id, id: plan.admin_api_key_id } };
    const keys = '/v1/organization/admin_api_keys';
    const headers = { 'idempotency-key': 'a-second-key', authorization: 'Bearer x' };
    const second = await ask('POST', keys, { ...asking, headers, body: { name: 'second' } });
    expect(second.status).toBe(201);
    expect(await gist(ask('DELETE', `${keys}/${plan.admin_api_key_id}`, asking))).toBe('200');
    const before = at.store.log.length;
    await start();
    expect(at.store.log).toHaveLength(before);
    expect(await gist(ask('DELETE', `${keys}/${second.body.id}`, asking))).toBe('409 last_admin_key');
  });
});

describe('a plan that a crash interrupted', () => {
  test.each([1, 2, 3, 4, 5, 6, 7])('at append %i is made to its end by the next start', async (step) => {
    lostFrom = step;
    await expect(start()).rejects.toThrow();
    lostFrom = 0;
    const plan = (await start())!;
    const streams = new Set(at.store.log.map(({ stream }) => stream));
    expect(streams).toEqual(
      new Set([
        'log-first_run',
        `organization-${plan.organization_id}`,
        `adminKey-${plan.admin_api_key_id}`,
        `project-${plan.project_id}`,
        `projectKey-${plan.project_api_key_id}`,
      ]),
    );
    expect(at.store.log).toHaveLength(7);
  });

  test('is made to its end beside an organization that was made meanwhile, whichever of the two has the lower id', async () => {
    lostFrom = 4;
    await expect(start()).rejects.toThrow();
    lostFrom = 0;
    await settled(await at.admin.aggregates.organization.dispatch('org_0', 'create', { name: 'Acme', at: 1 }, context));
    const plan = (await start())!;
    expect(at.store.log.at(-1)?.stream).toBe(`projectKey-${plan.project_api_key_id}`);
  });

  test('and whose organization was closed since is left as it is', async () => {
    lostFrom = 5;
    await expect(start()).rejects.toThrow();
    lostFrom = 0;
    const organization = at.store.log[1]!.stream.slice('organization-'.length);
    await settled(await at.admin.aggregates.organization.dispatch(organization, 'close', undefined, context));
    const before = at.store.log.length;
    await start();
    expect(at.store.log.slice(before).map(({ type }) => type)).toEqual([]);
    await start();
  });
});

describe('a first run that another gateway has claimed', () => {
  const other = { organizationId: newId('org', systemClock), host: 'elsewhere', pid: 7 };
  const said: { name: string; signal: object }[] = [];
  let unhear: () => void;
  beforeEach(() => {
    said.length = 0;
    unhear = onSignal((name, signal) => void (name.startsWith('first_run.') && said.push({ name, signal })));
  });
  afterEach(() => unhear());
  const plans = (): string[] => readdirSync(at.dir).filter((name) => name.startsWith('first-run.json'));
  const types = (): string[] => at.store.log.map(({ type }) => type);

  test('is waited for until its organization is there', async () => {
    await claimFirstRun(at.store, at.clock, other);
    const starting = start();
    await vi.waitUntil(() => labels.has('read of log-first_run'));
    const input = { name: 'theirs', at: 1 };
    await at.admin.aggregates.organization.dispatch(other.organizationId, 'create', input, context);
    expect(await starting).toBeNull();
    expect(types()).toEqual(['log.first_run_claimed', 'organization.created']);
    expect(said).toEqual([
      { name: 'first_run.left', signal: { to: 'process 7 on elsewhere', organizationId: other.organizationId } },
    ]);
    expect(plans()).toEqual([]);
  });

  test('and not finished within half a minute is left to the operator, and is never made here', async () => {
    await claimFirstRun(at.store, at.clock, other);
    at.clock.at += 30_000;
    for (let times = 1; times <= 2; times++) {
      expect(await start()).toBeNull();
      expect(types()).toEqual(['log.first_run_claimed']);
      expect(said).toHaveLength(times);
      expect(said[0]).toEqual({
        name: 'first_run.unfinished',
        signal: { by: 'process 7 on elsewhere', advice: expect.stringContaining('weir org create') },
      });
      expect(plans()).toEqual([]);
    }
  });

  test('and carried out by this one before a crash is gone on with, by the same folder alone', async () => {
    lostFrom = 2;
    await expect(start()).rejects.toThrow();
    lostFrom = 0;
    expect(types()).toEqual(['log.first_run_claimed']);
    const plan = (await start())!;
    expect(at.store.log[0]!.data.organization_id).toBe(plan.organization_id);
    expect(types().filter((type) => type === 'log.first_run_claimed')).toHaveLength(1);
    expect(plans()).toEqual(['first-run.json']);
  });

  test('by a gateway whose folder is lost is not made again', async () => {
    lostFrom = 2;
    await expect(start()).rejects.toThrow();
    lostFrom = 0;
    rmSync(join(at.dir, 'first-run.json'));
    at.clock.at += 30_000;
    expect(await start()).toBeNull();
    expect(types()).toEqual(['log.first_run_claimed']);
  });

  test('while the answer was lost is its own', async () => {
    answerLost = true;
    await expect(start()).rejects.toThrow();
    answerLost = false;
    expect(plans()).toEqual(['first-run.json.next']);
    expect(await start()).not.toBeNull();
    expect(types().filter((type) => type === 'log.first_run_claimed')).toHaveLength(1);
  });
});

describe('an admission whose Admin key never came', () => {
  const admit = async (keyId: string) => {
    const admission = { keyId, permissions: adminPermissions, expiresAt: null };
    await settled(await at.admin.aggregates.organization.dispatch('org_1', 'issueAdminKey', admission, context));
  };
  const make = async (id: string) => {
    const key = { organizationId: 'org_1', name: 'a', permissions: adminPermissions, expiresAt: null, at: 1 };
    const secret = { digest: id, pepperId: 'p1', redactedValue: 'gwa_abc...wxyz' };
    await settled(await at.admin.aggregates.adminKey.dispatch(id, 'create', { ...key, ...secret }, context));
  };
  const admitted = async (): Promise<string[]> => {
    const input = { keyId: 'akey_nobody', at: 1, unmade: [] };
    const { state } = await at.admin.aggregates.organization.dispatch('org_1', 'endAdminKey', input, context);
    return state.data.adminKeys.keys();
  };
  const remove = (id: string) =>
    gist(asker(adminKeyRoutes(at.admin))('DELETE', `/v1/organization/admin_api_keys/${id}`));

  beforeEach(async () => {
    await at.admin.aggregates.organization.dispatch('org_1', 'create', { name: 'Acme', at: 1 }, context);
    await admit('akey_gone');
    await admit('akey_made');
    await make('akey_made');
  });

  test('ends after ten minutes, not before, and never one whose key is there', async () => {
    at.clock.at += 599_999;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual(['akey_gone', 'akey_made']);
    at.clock.at += 1;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual(['akey_made']);
    expect(at.store.log.at(-1)?.metadata.actor).toEqual({ type: 'system', id: 'sweeper' });
  });

  test('ends though it is the last that could make keys', async () => {
    await settled(
      await at.admin.aggregates.organization.dispatch('org_1', 'dropAdminKey', { keyId: 'akey_made' }, context),
    );
    at.clock.at += 600_000;
    await sweeper(at.admin)();
    expect(await admitted()).toEqual([]);
  });

  test('is no key that could make another: the last real one stays', async () => {
    expect(await remove('akey_made')).toBe('409 last_admin_key');
    await make('akey_gone');
    expect(await remove('akey_made')).toBe('200');
  });
});
