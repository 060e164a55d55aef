import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { tokenKind } from '../../src/ids.ts';
import { weirHere } from '../e2e/here.ts';
import { workbench } from './run.ts';

const bench = workbench();
const { weir, json } = bench;
let organization = '';
let store: Awaited<ReturnType<typeof startEmbedded>>;

beforeAll(async () => {
  store = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  const [made] = await json('org', 'create', '--new-store', '--name', 'Acme');
  organization = String(made?.organization_id);
});
afterAll(async () => {
  await store.close();
  bench.clean();
});

const create = async (...more: string[]) =>
  (await json('oauth-client', 'create', organization, '--name', 'robot', ...more))[0] as Record<string, string>;
const clientsOf = async (...more: string[]) => json('oauth-client', 'list', ...more);

describe('weir oauth-client', () => {
  test('creates a client, shows its secret once, and lists it without', async () => {
    const made = await create('--permissions', 'projects:write,projects:read');
    expect(made.client_id).toMatch(/^oac_/);
    expect(tokenKind(made.client_secret ?? '')).toBe('s');
    expect(made.permissions).toEqual(['projects:read', 'projects:write']);
    const listed = await clientsOf(organization);
    expect(listed).toMatchObject([{ client_id: made.client_id, name: 'robot', status: 'active' }]);
    const history = await json('audit', 'history', made.client_id ?? '');
    expect(history).toMatchObject([
      { type: 'oauth_client.created', metadata: { actor: { type: 'operator', id: 'jo' } } },
    ]);
    expect(JSON.stringify([listed, history])).not.toContain(made.client_secret);
  });

  test('gives a client everything but policies unless told otherwise', async () => {
    const { permissions = '' } = await create();
    expect(permissions).toContain('admin_api_keys:write');
    expect(String(permissions)).not.toContain('policies');
  });

  test('deletes one for good, once it is sure', async () => {
    const { client_id: id = '' } = await create();
    expect(await weir(['oauth-client', 'delete', id])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes'),
    });
    expect(await weir(['oauth-client', 'delete', id], 'no')).toMatchObject({ code: 1, err: 'Nothing was changed.\n' });
    expect((await json('oauth-client', 'delete', id, '--yes'))[0]).toEqual({ client_id: id, status: 'deleted' });
    expect(await weir(['oauth-client', 'delete', id, '--yes'])).toMatchObject({
      code: 1,
      err: `There is no OAuth client ${id}.\n`,
    });
    expect((await clientsOf()).map(({ client_id }) => client_id)).not.toContain(id);
    expect((await clientsOf('--all')).find(({ client_id }) => client_id === id)).toMatchObject({ status: 'deleted' });
    const ended = (await json('audit', 'history', organization)).map(({ type }) => type);
    expect(ended).toContain('organization.oauth_client_ended');
  });

  test('says what is wrong in one sentence', async () => {
    const cases: [string[], RegExp, code?: number][] = [
      [
        ['create', 'org_nobody', '--name', 'x'],
        /^There is no organization org_nobody\. weir org list shows them\.\n$/,
        1,
      ],
      [['create', organization, '--name', ' '], /^An OAuth client’s name has 1 to 120 characters\.\n$/],
      [
        ['create', organization, '--name', 'x', '--permissions', 'projects:read,models:read'],
        /Give some of organization:read, /,
      ],
      [
        ['create', organization, '--name', 'x', '--permissions', 'projects:read policies:read'],
        /No route takes policies:read from an access token: policies are for Admin keys\. Give some of organization:read, [^p]*projects:read/,
      ],
      [['create', organization, '--name', 'x', '--permissions', ' '], /Give some of organization:read, /],
      [['create', organization], /--name/],
      [['list', 'org_nobody'], /^There is no organization org_nobody\. weir org list shows them\.\n$/, 1],
    ];
    for (const [argv, sentence, status = 64] of cases) {
      const { code, out, err } = await weir(['oauth-client', ...argv]);
      expect([code, out]).toEqual([status, '']);
      expect(err).toMatch(sentence);
    }
  });

  test('ends with its organization, and none is made after that', async () => {
    const [other] = await json('org', 'create', '--name', 'Passing');
    const id = String(other?.organization_id);
    const [client] = await json('oauth-client', 'create', id, '--name', 'robot');
    expect((await weir(['org', 'close', id, '--yes'])).code).toBe(0);
    const events = await json('audit', 'history', id);
    expect(events.at(-1)).toMatchObject({
      type: 'organization.oauth_client_ended',
      data: { client_id: client?.client_id },
    });
    const late = await weir(['oauth-client', 'create', id, '--name', 'late']);
    expect(late.err).toMatch(/^That cannot be done: the organization is closed\.\n$/);
  });
});

describe('weir secrets', () => {
  const peppers = () => json('secrets', 'show');
  test('tells how many keys and clients hang on which pepper, and replaces one', async () => {
    const [before] = await peppers();
    expect(before).toMatchObject({ is: 'current', live_credentials: expect.any(Number) });
    const keys = Number(before?.live_credentials);
    expect(keys).toBeGreaterThan(2);
    const rotated = await weir(['secrets', 'rotate-pepper', '--jsonl']);
    expect(rotated).toMatchObject({ code: 0, err: expect.stringContaining('Start every gateway anew') });
    await create();
    const [current, previous] = await peppers();
    expect(current).toMatchObject({ is: 'current', live_credentials: 1 });
    expect(previous).toEqual({ ...before, is: 'previous' });
    expect(await weir(['secrets', 'rotate-pepper'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('still accepted'),
    });
    expect(await weir(['secrets', 'drop-pepper'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${keys} live keys`),
    });
    expect(await peppers()).toHaveLength(2);
    expect((await weir(['secrets', 'drop-pepper', '--yes'])).code).toBe(0);
    expect(await peppers()).toMatchObject([
      { pepper: current?.pepper, is: 'current', live_credentials: 1 },
      { pepper: before?.pepper, is: 'lost', live_credentials: keys },
    ]);
    expect(await weir(['secrets', 'drop-pepper', '--yes'])).toMatchObject({
      code: 1,
      err: 'There is no previous pepper.\n',
    });
  });

  test('are made anew only where they are lost and that is wanted', async () => {
    const lost = { ...bench.env, SECRETS_DIR: join(bench.dir, 'elsewhere') };
    const refused = await weirHere(['org', 'list'], lost);
    expect(refused.code).toBe(78);
    expect(refused.stderr).toMatch(/SECRETS_DIR: \S+elsewhere holds no secrets, .* run weir secrets create\n$/);
    expect((await weirHere(['secrets', 'create'], lost)).stderr).toContain('--yes');
    expect((await weirHere(['secrets', 'create', '--yes'], lost)).code).toBe(0);
    expect((await weirHere(['org', 'list'], lost)).code).toBe(0);
    expect((await weirHere(['secrets', 'create', '--yes'], lost)).stderr).toMatch(
      /^There are secrets in \S+elsewhere\.\n$/,
    );
  });

  test('of the environment are left to whoever keeps the environment', async () => {
    const given = { ...bench.env, PEPPER: 'a'.repeat(64), MASTER_KEY: 'b'.repeat(64) };
    const shown = await weirHere(['secrets', 'show', '--jsonl'], given);
    expect(shown.stdout.split('\n')).toHaveLength(4);
    for (const command of ['rotate-pepper', 'drop-pepper', 'create']) {
      const refused = await weirHere(
        ['secrets', command, '--yes'].slice(0, command === 'rotate-pepper' ? 2 : 3),
        given,
      );
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/^(The secrets come from the environment|There is no previous pepper)/);
    }
  });
});
