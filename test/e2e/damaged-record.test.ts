import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { call, createKey, createProject, errorOf, freshKey, paths, use } from './calls.ts';
import { isRemote } from './remote-store.ts';
import { eventually, exitOf, freshDir, runWeir, spawnServer, startServer } from './server.ts';

// Several starts each, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const mark = 'The name that a damaged disk has changed';

/** Flips a bit of the text wherever the file holds it: pages that LMDB has left behind are no longer read. */
const damage = (file: string): void => {
  const bytes = readFileSync(file);
  let found = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1), found++) bytes[at + 4]! ^= 1;
  expect(found).toBeGreaterThan(0);
  writeFileSync(file, bytes);
};

interface Told {
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
}

describe.skipIf(isRemote)('a record that the disk has damaged', () => {
  let sound: string;
  let organization: string;
  let project: string;
  let other: string;
  let key: Awaited<ReturnType<typeof createKey>>;
  let event: Told;

  /** The store with the damage in it, in a folder of its own, and the read models that have seen it whole. */
  const damaged = (): string => {
    const dir = freshDir();
    cpSync(sound, dir, { recursive: true });
    damage(join(dir, 'eventstore', 'events.mdb'));
    return dir;
  };
  const run = (dir: string, ...args: string[]) =>
    runWeir(args, { PORT: '0', DATA_DIR: dir, SECRETS_DIR: `${sound}.secrets` });
  /** One sentence, which says where, and what to do. */
  const namesIt = (text: string, ...where: string[]): void => {
    for (const each of where) expect(text).toContain(each);
    expect(text).toContain('damaged');
    expect(text).toContain('weir store verify');
    expect(text.trim().split('\n')).toHaveLength(1);
  };

  beforeAll(async () => {
    const server = await startServer();
    organization = server.first.organization_id;
    other = await createProject(server);
    project = await createProject(server);
    key = await createKey(server, project);
    const renamed = await call(server, 'POST', `${paths.projects}/${project}`, {
      body: { name: mark },
      headers: { 'idempotency-key': freshKey() },
    });
    expect(renamed.status).toBe(200);
    // No checkpoint lies on the event: who starts again begins behind it.
    await createProject(server);
    await server.stop();
    sound = server.dataDir;
    const { stdout } = await run(sound, 'audit', 'history', project, '--jsonl');
    event = JSON.parse(
      stdout
        .trim()
        .split('\n')
        .find((line) => line.includes(mark))!,
    ) as Told;
  });

  test.each(['history', 'state'])(
    'is named by audit %s, which ends with a code; what is sound is shown',
    async (what) => {
      const dir = damaged();
      const refused = await run(dir, 'audit', what, project);
      expect(refused.code).toBe(1);
      expect(refused.stdout).toBe('');
      namesIt(refused.stderr, `Event ${event.revision} of ${event.stream}`, `position ${event.position}`);
      expect((await run(dir, 'audit', what, other)).code).toBe(0);
      expect((await run(dir, 'audit', 'history', organization)).code).toBe(0);
      // What the sentence points to knows it too.
      const verified = await run(dir, 'store', 'verify');
      expect(verified.code).toBe(1);
      expect(verified.stdout + verified.stderr).toContain(event.position);
    },
  );

  test('ends the start of a server that has to read it', async () => {
    const dir = damaged();
    rmSync(join(dir, 'read-models'), { recursive: true });
    const started = await spawnServer(dir, { SECRETS_DIR: `${sound}.secrets` });
    expect(await exitOf(started)).toEqual({ code: 1, signal: null });
    const said = started.stderr().split('\n');
    namesIt(said.filter((line) => line !== '' && !line.startsWith('{')).join('\n'), `position ${event.position}`);
  });

  test('ends any start where it is a page of the file itself', async () => {
    const dir = damaged();
    const file = join(dir, 'eventstore', 'events.mdb');
    writeFileSync(file, readFileSync(file).fill(0, 0, 2 * 4096));
    for (const command of [['serve'], ['eventstore'], ['audit', 'history', other]]) {
      const { code, stdout, stderr } = await run(dir, ...command);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      namesIt(stderr, file);
    }
  });

  test('is met by the commands on its stream alone, which are answered at once', async () => {
    const dir = damaged();
    const server = await startServer({ dataDir: dir, env: { SECRETS_DIR: `${sound}.secrets` } });
    const rename = (id: string) =>
      call(server, 'POST', `${paths.projects}/${id}`, {
        body: { name: 'another name' },
        headers: { 'idempotency-key': freshKey() },
      });
    expect((await rename(project)).status).toBe(500);
    const logged = await eventually(() => server.log().find(({ msg }) => msg === 'request.failed'));
    expect(JSON.stringify(logged)).toContain(`Event ${event.revision} of ${event.stream}`);
    expect((await rename(other)).status).toBe(200);
    expect((await call(server, 'GET', '/v1/ready', { key: null })).status).toBe(200);
    await server.stop();
  });

  test('stops the one reaction that would have to change its stream, which is named; all else goes on', async () => {
    const server = await startServer({ dataDir: damaged(), env: { SECRETS_DIR: `${sound}.secrets` } });
    expect((await call(server, 'DELETE', `${paths.projectKeys(project)}/${key.id}`)).status).toBe(200);
    const told = await eventually(async () => {
      const { status, body } = await call(server, 'GET', '/v1/ready?verbose', { key: null });
      return status === 503 ? errorOf(body).message : undefined;
    });
    expect(told).toMatch(
      /^Not available: reactions \(keys-follow-projects stands still at revision 1 of projectKey-key_\w+: [^)]+\)\. /,
    );
    expect(await use(server, key.value)).toBe('401 api_key_revoked');
    expect(await use(server, (await createKey(server, other)).value)).toBe('200');
    await eventually(() => server.log().find(({ msg }) => msg === 'follower.stopped'));
    const stops = server.log().filter(({ msg }) => msg === 'follower.stopped');
    expect(stops).toMatchObject([{ follower: 'keys-follow-projects', stream: `projectKey-${key.id}` }]);
    await server.stop();
  });
});
