import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projectKeyRows } from '../../projections/project-keys.ts';
import { keyReactions } from '../../src/admin/reactions.ts';
import { sweeper } from '../../src/admin/sweep.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { startReactors } from '../../src/kernel/followers/reactor.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
const key = {
  organizationId: 'org_1',
  projectId: 'proj_1',
  name: 'k',
  permissions: ['models:read'],
  expiresAt: null,
  pepperId: 'p1',
  redactedValue: 'gwp_abc...wxyz',
  at: 1,
};
let at: Awaited<ReturnType<typeof stage>>;
let reactors: { close(): Promise<void> } | undefined;

beforeEach(async () => {
  at = await stage();
  await at.admin.aggregates.project.dispatch(
    'proj_1',
    'create',
    { organizationId: 'org_1', name: 'p', at: 1 },
    context,
  );
});
afterEach(async () => {
  await reactors?.close();
  await at.close();
});

const admit = (keyId: string) => at.admin.aggregates.project.dispatch('proj_1', 'issueKey', { keyId }, context);
const make = (id: string) =>
  at.admin.aggregates.projectKey.dispatch(id, 'create', { ...key, digest: id }, { ...context, requestId: `req_${id}` });
const archive = () =>
  at.admin.aggregates.project.dispatch('proj_1', 'archive', { at: 2 }, { ...context, requestId: 'req_archive' });
const react = async () => {
  reactors = await startReactors({
    ours: (batch) => batch,
    dir: join(at.dir, 'reactors'),
    store: at.store,
    logId: 'log',
    reactors: [keyReactions(at.admin)],
    retryMs: 1,
  });
};
const typesOf = (stream: string): string[] =>
  at.store.log.filter((event) => event.stream === stream).map((event) => event.type);
const live = async (): Promise<string[]> => {
  const { state } = await at.admin.aggregates.project.dispatch('proj_1', 'endKey', { keyId: 'nobody' }, context);
  return state.data.liveKeys.ids();
};

describe('after an archive', () => {
  test('each key’s own stream records the revocation, once, and the project admits it no more', async () => {
    for (const id of ['key_1', 'key_2', 'key_3']) {
      await admit(id);
      await make(id);
    }
    await archive();
    await react();
    await expect.poll(live).toEqual([]);
    // Each is found by the request that brought it about, through however many reactions.
    const consequences = at.store.log.filter(({ metadata }) => metadata.actor.id === 'reactions');
    for (const { type, metadata } of consequences) {
      const cause = at.store.log.find(({ id }) => id === metadata.$causationId);
      expect([type, metadata.request_id]).toEqual([type, expect.stringMatching(/^req_/)]);
      expect([type, metadata.request_id]).toEqual([type, cause?.metadata.request_id]);
    }
    expect(consequences).toHaveLength(6);
    for (const id of ['key_1', 'key_2', 'key_3']) {
      expect(typesOf(`projectKey-${id}`)).toEqual(['project_key.created', 'project_key.revoked']);
    }
    const [last] = at.store.log.filter((event) => event.type === 'project_key.revoked');
    expect(last?.data).toEqual({ reason: 'project_archived' });
    expect(last?.metadata.actor).toEqual({ type: 'system', id: 'reactions' });
  });

  test('a key admitted before and made after it is revoked too', async () => {
    await admit('key_1');
    await archive();
    await make('key_1');
    await react();
    await expect.poll(() => typesOf('projectKey-key_1')).toEqual(['project_key.created', 'project_key.revoked']);
  });

  test('all of more keys than one page are revoked', async () => {
    const ids = Array.from({ length: 205 }, (_, i) => `key_${i}`);
    for (const id of ids) {
      await admit(id);
      await make(id);
    }
    await archive();
    await react();
    await expect.poll(live, { timeout: 20_000 }).toEqual([]);
    expect(
      at.admin.models.range(projectKeyRows, { prefix: 'proj_1:', limit: 500 }, (row) => row.status !== 'revoked'),
    ).toEqual([]);
  });
});

test('a revoked key ends its admission while its project lives on', async () => {
  await admit('key_1');
  await make('key_1');
  await at.admin.aggregates.projectKey.dispatch('key_1', 'revoke', { reason: 'requested' }, context);
  await react();
  await expect.poll(live).toEqual([]);
  expect(typesOf('projectKey-key_1')).toEqual(['project_key.created', 'project_key.revoked']);
});

describe('an admission whose key never came', () => {
  test('ends after ten minutes, not before, and never one whose key is there', async () => {
    await admit('key_gone');
    await admit('key_made');
    const { position } = await make('key_made');
    await at.admin.models.reached(position as bigint, 2000);
    at.clock.at += 599_999;
    await sweeper(at.admin)();
    expect(await live()).toEqual(['key_gone', 'key_made']);
    at.clock.at += 1;
    await sweeper(at.admin)();
    expect(await live()).toEqual(['key_made']);
  });
});
