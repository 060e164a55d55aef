import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { type Directory, directory } from '../../src/data/access/directory.ts';
import { adminKey } from '../../src/domain/key/admin-key.ts';
import { projectKey } from '../../src/domain/key/project-key.ts';
import { organization } from '../../src/domain/organization/organization.ts';
import { project } from '../../src/domain/project/project.ts';
import { digest, digestText } from '../../src/ids.ts';
import { actors, type Context } from '../../src/kernel/commands/actor.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { memoryStore } from '../support/memory-store.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
const store = memoryStore();
const tell = {
  organization: actors(organization, { store }),
  project: actors(project, { store }),
  projectKey: actors(projectKey, { store }),
  adminKey: actors(adminKey, { store }),
};
let dir: string;
let models: ReadModels;
let known: Directory;
let n = 0;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-directory-'));
  known = directory(() => models, 4);
  models = await openReadModels({
    ours: (batch) => batch,
    dir,
    store,
    logId: 'log',
    projections,
    committing: (batch) => known.committing(batch),
    committed: (batch) => known.committed(batch),
  });
});
afterEach(async () => {
  await models.close();
  rmSync(dir, { recursive: true, force: true });
});

const fields = (token: string) => ({
  name: 'k',
  permissions: ['models:read'],
  expiresAt: null,
  digest: digestText(digest('pepper', token)),
  pepperId: 'p1',
  redactedValue: 'gwp_abc...wxyz',
  at: 1,
});
const settled = async (told: Promise<{ position: bigint | null }>): Promise<void> => {
  const { position } = await told;
  if (position !== null) expect(await models.reached(position, 2000)).toBe(true);
};
/** An organization with a project and `keys` keys. */
const tenant = async (keys = 1) => {
  n += 1;
  const ids = { organizationId: `org_${n}`, projectId: `proj_${n}` };
  await tell.organization.dispatch(ids.organizationId, 'create', { name: 'o', at: 1 }, context);
  await tell.project.dispatch(
    ids.projectId,
    'create',
    { organizationId: ids.organizationId, name: 'p', at: 1 },
    context,
  );
  const tokens = Array.from({ length: keys }, (_, i) => `token-${n}-${i}`);
  for (const [i, token] of tokens.entries()) {
    await settled(tell.projectKey.dispatch(`key_${n}_${i}`, 'create', { ...ids, ...fields(token) }, context));
  }
  return { ...ids, tokens, keyId: `key_${n}_0` };
};
const verdict = (token: string): string | null => {
  const found = known.find(digest('pepper', token));
  return found && (found.inactive ?? found.id);
};

describe('a credential works', () => {
  test('while key, project and organization are active, and carries who it speaks for', async () => {
    const { tokens, organizationId, projectId, keyId } = await tenant();
    expect(known.find(digest('pepper', tokens[0] as string))).toMatchObject({
      kind: 'project_key',
      id: keyId,
      organizationId,
      projectId,
      projectName: 'p',
      tier: 0,
      organizationStatus: 'active',
    });
    expect(verdict('nobody has this')).toBeNull();
  });
  test('as an Admin key until it is deleted', async () => {
    const { organizationId } = await tenant(0);
    const id = `akey_${n}`;
    await settled(tell.adminKey.dispatch(id, 'create', { organizationId, ...fields('admin token') }, context));
    expect(verdict('admin token')).toBe(id);
    await settled(tell.adminKey.dispatch(id, 'delete', undefined, context));
    expect(verdict('admin token')).toBe('invalid_api_key');
  });
});

describe('a change is seen as soon as it is projected', () => {
  test('of the key', async () => {
    const { tokens, keyId } = await tenant();
    const [token = ''] = tokens;
    expect(verdict(token)).toBe(keyId);
    await settled(tell.projectKey.dispatch(keyId, 'suspend', { at: 2 }, context));
    expect(verdict(token)).toBe('api_key_suspended');
    await settled(tell.projectKey.dispatch(keyId, 'reactivate', { at: 3 }, context));
    expect(verdict(token)).toBe(keyId);
    await settled(tell.projectKey.dispatch(keyId, 'revoke', { reason: 'requested' }, context));
    expect(verdict(token)).toBe('api_key_revoked');
  });
  test('of a rotation: who shares windows with whom', async () => {
    const { tokens, keyId, organizationId, projectId } = await tenant();
    const find = (token: string) => known.find(digest('pepper', token));
    expect(find(tokens[0] as string)).toMatchObject({ windowsOf: '', sharesWindows: false });
    const line = { rotatedFrom: keyId, windowsOf: keyId };
    const ids = { organizationId, projectId };
    await settled(tell.projectKey.dispatch(`${keyId}_next`, 'create', { ...ids, ...fields('next'), ...line }, context));
    expect(find('next')).toMatchObject({ id: `${keyId}_next`, windowsOf: keyId, sharesWindows: true });
    const order = { successorId: `${keyId}_next`, graceSeconds: 60, at: 2_000 };
    await settled(tell.projectKey.dispatch(keyId, 'rotate', order, context));
    expect(find(tokens[0] as string)).toMatchObject({ windowsOf: '', sharesWindows: true, expiresAt: 63_000 });
    await settled(tell.projectKey.dispatch(keyId, 'revoke', { reason: 'requested' }, context));
    // Also of one that does not work any more: it must not use up what its successor has.
    expect(find(tokens[0] as string)).toMatchObject({ inactive: 'api_key_revoked', sharesWindows: true });
  });
  test('of the project, for every key of it and no other', async () => {
    const one = await tenant(2);
    const other = await tenant(1);
    expect([...one.tokens, ...other.tokens].map(verdict)).toEqual([`key_${n - 1}_0`, `key_${n - 1}_1`, `key_${n}_0`]);
    await settled(tell.project.dispatch(one.projectId, 'archive', { at: 2 }, context));
    expect([...one.tokens, ...other.tokens].map(verdict)).toEqual(['api_key_revoked', 'api_key_revoked', `key_${n}_0`]);
  });
  test('of the organization', async () => {
    const { tokens, organizationId } = await tenant();
    const [token = ''] = tokens;
    verdict(token);
    await settled(tell.organization.dispatch(organizationId, 'suspend', undefined, context));
    expect(known.find(digest('pepper', token))).toMatchObject({ organizationStatus: 'suspended' });
    await settled(tell.organization.dispatch(organizationId, 'close', undefined, context));
    expect(verdict(token)).toBe('api_key_revoked');
  });
});

describe('while a change is being committed', () => {
  const closed = async (organizationId: string) =>
    (await tell.organization.dispatch(organizationId, 'close', undefined, context)).position;
  test('a credential is judged by what is committed, from the moment that others can see it', async () => {
    const { tokens, organizationId } = await tenant(1);
    const [token = ''] = tokens;
    expect(verdict(token)).toMatch(/^key_/);
    // As it is when the commit is done and our own process has not heard of it: the second half is held back.
    const { committed } = known;
    let release = (): void => {};
    known.committed = (batch) => {
      release = () => committed(batch);
    };
    const position = await closed(organizationId);
    expect(await models.reached(position as bigint, 2000)).toBe(true);
    expect(verdict(token)).toBe('api_key_revoked');
    release();
    expect(verdict(token)).toBe('api_key_revoked');
  });
  test('nothing that it changes is kept from before', async () => {
    const { tokens, organizationId } = await tenant(1);
    const other = await tenant(1);
    const [token = ''] = tokens;
    const [stays = ''] = other.tokens;
    expect([verdict(token), verdict(stays)]).toEqual([`key_${n - 1}_0`, `key_${n}_0`]);
    const { committing } = known;
    let seen: (string | null)[] = [];
    known.committing = (batch) => {
      committing(batch);
      // Not yet committed: both still work, and only the one that nothing happens to may be remembered.
      seen = [verdict(token), verdict(stays)];
    };
    await settled(tell.organization.dispatch(organizationId, 'close', undefined, context));
    expect(seen).toEqual([`key_${n - 1}_0`, `key_${n}_0`]);
    expect([verdict(token), verdict(stays)]).toEqual(['api_key_revoked', `key_${n}_0`]);
  });
});

describe('refuse', () => {
  const far = 10n ** 15n;
  test('takes access away before the read models know, from a project or one key', async () => {
    const one = await tenant(1);
    const two = await tenant(1);
    const tokens = [...one.tokens, ...two.tokens];
    tokens.map(verdict);
    known.refuse(one.projectId, far);
    known.refuse(two.keyId, far, 'api_key_suspended');
    expect(tokens.map(verdict)).toEqual(['api_key_revoked', 'api_key_suspended']);
  });
  test('holds until the read models have caught up with the event, and no longer', async () => {
    const { tokens, keyId } = await tenant(1);
    const [token = ''] = tokens;
    const { position } = await tell.projectKey.dispatch(keyId, 'suspend', { at: 2 }, context);
    known.refuse(keyId, position, 'api_key_suspended');
    expect(verdict(token)).toBe('api_key_suspended');
    await settled(tell.projectKey.dispatch(keyId, 'reactivate', { at: 3 }, context));
    expect(verdict(token)).toBe(keyId);
  });
  test('of what has been applied already, or of nothing, changes nothing', async () => {
    const { tokens, keyId } = await tenant(1);
    known.refuse(keyId, 0n);
    known.refuse(keyId, null);
    expect(verdict(tokens[0] as string)).toBe(keyId);
  });
});

test('it keeps no more entries than it may, and stays right', async () => {
  const { tokens, projectId } = await tenant(7);
  for (const token of [...tokens, ...tokens]) expect(verdict(token)).toMatch(/^key_/);
  await settled(tell.project.dispatch(projectId, 'archive', { at: 2 }, context));
  for (const token of tokens) expect(verdict(token)).toBe('api_key_revoked');
});
