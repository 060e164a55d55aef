import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { adminKeyRows } from '../../projections/admin-keys.ts';
import { activeProjectRows } from '../../projections/projects.ts';
import { organizationReactions } from '../../src/admin/organization/organization-reactions.ts';
import { adminKeyReactions, keyReactions } from '../../src/admin/reactions.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { startReactors } from '../../src/kernel/followers/reactor.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'operator', id: 'jo' } };
const secret = { pepperId: 'p1', redactedValue: 'gw_abc...wxyz', expiresAt: null, at: 1 };
let at: Awaited<ReturnType<typeof stage>>;
let reactors: { close(): Promise<void> } | undefined;

beforeEach(async () => {
  at = await stage();
  for (const id of ['org_1', 'org_2'])
    await at.admin.aggregates.organization.dispatch(id, 'create', { name: id, at: 1 }, context);
});
afterEach(async () => {
  await reactors?.close();
  await at.close();
});

const project = (id: string, organizationId = 'org_1') =>
  at.admin.aggregates.project.dispatch(id, 'create', { organizationId, name: id, at: 1 }, context);
const admitAdminKey = (keyId: string, organizationId = 'org_1') =>
  at.admin.aggregates.organization.dispatch(
    organizationId,
    'issueAdminKey',
    { keyId, permissions: adminPermissions, expiresAt: null },
    context,
  );
const makeAdminKey = (id: string, organizationId = 'org_1') =>
  at.admin.aggregates.adminKey.dispatch(
    id,
    'create',
    { organizationId, name: id, permissions: adminPermissions, digest: id, ...secret },
    context,
  );
const close = () => at.admin.aggregates.organization.dispatch('org_1', 'close', undefined, context);
const react = async () => {
  reactors = await startReactors({
    ours: (batch) => batch,
    dir: join(at.dir, 'reactors'),
    store: at.store,
    logId: 'log',
    reactors: [organizationReactions(at.admin), keyReactions(at.admin), adminKeyReactions(at.admin)],
    retryMs: 1,
  });
};
const typesOf = (stream: string): string[] =>
  at.store.log.filter((event) => event.stream === stream).map((event) => event.type);

describe('after the closing of an organization', () => {
  test.each([1, 50, 120])(
    '%i projects are archived, as many Admin keys deleted, each once and by nobody else’s doing',
    async (count) => {
      await react();
      const numbers = Array.from({ length: count }, (_, i) => i);
      for (const i of numbers) {
        await project(`proj_${i}`);
        await admitAdminKey(`akey_${i}`);
        await makeAdminKey(`akey_${i}`);
      }
      await project('proj_other', 'org_2');
      await admitAdminKey('akey_other', 'org_2');
      await makeAdminKey('akey_other', 'org_2');
      await close();
      await expect
        .poll(() => typesOf(`adminKey-akey_${count - 1}`), { timeout: 20_000 })
        .toContain('admin_key.deleted');
      for (const i of numbers) {
        expect(typesOf(`project-proj_${i}`)).toEqual(['project.created', 'project.archived']);
        expect(typesOf(`adminKey-akey_${i}`)).toEqual(['admin_key.created', 'admin_key.deleted']);
      }
      expect(typesOf('project-proj_other')).toEqual(['project.created']);
      expect(typesOf('adminKey-akey_other')).toEqual(['admin_key.created']);
      const [archived] = at.store.log.filter(({ type }) => type === 'project.archived');
      expect(archived?.metadata.actor).toEqual({ type: 'system', id: 'reactions' });
      await at.admin.models.reached(at.store.log.at(-1)!.position, 2000);
      expect(at.admin.models.range(activeProjectRows, { prefix: 'org_1:', limit: 1 })).toEqual([]);
      const live = at.admin.models.range(
        adminKeyRows,
        { prefix: 'org_1:', limit: 1 },
        ({ status }) => status === 'active',
      );
      expect(live).toEqual([]);
    },
  );

  test('what was begun before it and made after it ends too', async () => {
    await admitAdminKey('akey_late');
    await close();
    await react();
    await project('proj_late');
    await makeAdminKey('akey_late');
    await expect.poll(() => typesOf('project-proj_late')).toEqual(['project.created', 'project.archived']);
    await expect.poll(() => typesOf('adminKey-akey_late')).toEqual(['admin_key.created', 'admin_key.deleted']);
  });

  test('a suspension ends nothing', async () => {
    await project('proj_1');
    await at.admin.aggregates.organization.dispatch('org_1', 'suspend', undefined, context);
    await react();
    await project('proj_2');
    const { position } = await project('proj_3', 'org_2');
    await at.admin.models.reached(position as bigint, 2000);
    await reactors?.close();
    reactors = undefined;
    expect(at.store.log.filter(({ type }) => type === 'project.archived')).toEqual([]);
  });
});
