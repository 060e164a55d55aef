// Lane: rest: a torture of the gateway as a process
import { closeSync, existsSync, openSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { startRemoteStore } from '../support/tls-store.ts';
import { fillToTheLastByte, loopDisk, noLoopDisk, noMount, overlay, tmpfs } from '../torture/loop-disk.ts';
import { compile, noCompiler, Scene } from '../torture/scene.ts';
import { call, createProject, expectRefusal, freshKey, itemsOf, paths, use } from './calls.ts';
import { spawnWeir } from './process.ts';
import { isRemote, noEmbedded } from './remote-store.ts';
import { eventually, exitOf, runWeir, type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 180_000 });

/** From the moment that there is room again, until appends are taken. */
const recoveryMs = 5_000;
const mib = 1024 * 1024;
/** Of the disk, below which the store takes no appends. */
const neededBytes = 64 * mib;
const why = isRemote ? noEmbedded : noMount();
if (why !== undefined) process.stderr.write(`SKIPPED: a gateway on a full disk: ${why}\n`);

const scene = new Scene();
afterAll(() => scene.end());
/** Room for what the store demands of a disk, and for somebody else to take it. */
const megabytes = 192;

/**
 * Takes the disk until so much is left: from where the store begins to demand room, no faster than it looks, twice a second,
 * can keep up with.
 */
const fillTo = async (path: string, leftBytes: number): Promise<void> => {
  const file = openSync(join(path, 'others'), 'a');
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(path);
      const free = bavail * bsize;
      const more = free > neededBytes ? free - neededBytes : Math.min(16 * mib, free - leftBytes);
      if (more <= 0) return;
      writeSync(file, Buffer.alloc(more));
      await new Promise((resolve) => setTimeout(resolve, 600));
    }
  } finally {
    closeSync(file);
  }
};

const askForProject = (server: Server) =>
  call(server, 'POST', paths.projects, { body: { name: 'one more' }, headers: { 'idempotency-key': freshKey() } });

const answerOf = (server: Server) =>
  call(server, 'POST', '/v1/messages', {
    key: server.first.project_api_key,
    body: { model: 'weir-sim-1', max_tokens: 16, messages: [{ role: 'user', content: 'Is there room?' }] },
  });

const saysThatItIsFull = async (server: Server): Promise<void> => {
  const ready = await call(server, 'GET', '/v1/ready');
  expectRefusal(ready, 503, 'dependency_unavailable');
  expect(ready.body).toMatchObject({ error: { message: expect.stringContaining('room on the volume of DATA_DIR') } });
};
/** A request for a model is not given to its upstream when there is no room for its account. */
const saysThatItTakesNone = async (server: Server): Promise<void> => {
  const refused = await eventually(async () => {
    const answer = await answerOf(server);
    return answer.status === 503 ? answer : undefined;
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.text).toContain('there is no room for their accounts on the disk');
  expect((await call(server, 'GET', '/v1/ready')).text).toContain('the accounts of requests');
};

/** What the volume was found to be is believed for a moment. */
const saysThatItIsReady = (server: Server): Promise<true> =>
  eventually(async () => (await call(server, 'GET', '/v1/ready')).status === 200 || undefined);

describe.concurrent('a gateway', () => {
  test.skipIf(why !== undefined).each([
    ['nearly full', 24 * mib],
    ['full to the last byte', 0],
  ])('on a disk that is %s commands are refused, all else is served, and it goes on by itself', async (_, left) => {
    const path = tmpfs(scene, megabytes);
    const server = await startServer({ dataDir: join(path, 'data') });
    const before = await createProject(server);
    await eventually(() => existsSync(join(path, 'data', 'eventstore', 'ballast')) || undefined);
    await fillTo(path, left);
    const refused = await askForProject(server);
    expectRefusal(refused, 503, 'dependency_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await saysThatItIsFull(server);
    // Two savings of the rate limits and of the last uses fail meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await itemsOf(server, paths.projects)).map(({ id }) => id)).toContain(before);
    expect(await use(server, server.first.project_api_key)).toBe('200');
    if (left > 0) expect((await answerOf(server)).status).toBe(200);
    else await saysThatItTakesNone(server);

    rmSync(join(path, 'others'));
    const freed = performance.now();
    await eventually(async () => (await askForProject(server)).status === 201 || undefined);
    await eventually(async () => (await answerOf(server)).status === 200 || undefined);
    expect(performance.now() - freed).toBeLessThan(recoveryMs);
    await saysThatItIsReady(server);
    await server.stop();
    // What was acknowledged is there, and what was refused is not.
    const again = await startServer({ dataDir: join(path, 'data') });
    const names = (await itemsOf(again, paths.projects)).map(({ name }) => name);
    expect(names.filter((name) => name === 'one more')).toHaveLength(1);
    expect(names).toContain('a project');
    await again.stop();
  });

  test.skipIf(why !== undefined)(
    'takes no requests for models from 64 MiB on, where nothing can be written over in its place',
    async () => {
      const path = overlay(scene, megabytes);
      const server = await startServer({ dataDir: join(path, 'data') });
      expect((await answerOf(server)).status).toBe(200);
      await fillTo(path, 48 * mib);
      await saysThatItTakesNone(server);
      rmSync(join(path, 'others'));
      await eventually(async () => (await answerOf(server)).status === 200 || undefined);
      await saysThatItIsReady(server);
      await server.stop();
    },
  );
});

describe.skipIf(why !== undefined)('a start', { concurrent: true }, () => {
  test.each([
    ['in memory', noMount(), () => tmpfs(scene, megabytes)],
    ['of ext4', noLoopDisk(), () => loopDisk(scene, megabytes).path],
  ])(
    'on a disk %s that is full to the last byte says so, serves what is there, and writes once there is room',
    async (_, whyNot, disk) => {
      if (whyNot !== undefined) {
        process.stderr.write(`SKIPPED: a start on a full disk: ${whyNot}\n`);
        return;
      }
      const path = disk();
      const dataDir = join(path, 'data');
      const secrets = { SECRETS_DIR: join(scene.dir(), 'secrets') };
      const server = await startServer({ dataDir, env: secrets });
      const before = await createProject(server);
      await server.stop();
      // Others have taken the room of the ballast too.
      rmSync(join(dataDir, 'eventstore', 'ballast'), { force: true });
      fillToTheLastByte(path);

      const history = await runWeir(['audit', 'history', before], { DATA_DIR: dataDir, ...secrets });
      expect(history).toMatchObject({ code: 0 });
      const full = await startServer({ dataDir, env: secrets });
      const said = await eventually(() => full.log().find(({ msg }) => msg === 'store.read_only'));
      expect(said).toMatchObject({ level: 40, dir: join(dataDir, 'eventstore'), neededBytes });
      // What the store itself has removed at its start is free.
      expect(said.freeBytes).toBeLessThan(mib);
      expectRefusal(await askForProject(full), 503, 'dependency_unavailable');
      await saysThatItIsFull(full);
      expect((await itemsOf(full, paths.projects)).map(({ id }) => id)).toContain(before);
      expect(await use(full, full.first.project_api_key)).toBe('200');
      fillToTheLastByte(path);
      await saysThatItTakesNone(full);
      rmSync(join(path, 'others'));
      await eventually(async () => (await askForProject(full)).status === 201 || undefined);
      await eventually(async () => (await answerOf(full)).status === 200 || undefined);
      await full.stop();
    },
  );

  test('with less than 64 MiB free warns, also of a store alone', async () => {
    const path = tmpfs(scene, 48);
    const dir = join(path, 'alone');
    const store = spawnWeir(['eventstore', '--dir', dir], {});
    await eventually(() => store.stdout().includes('listens') || undefined);
    expect(store.stderr()).toMatch(/^The volume of .*alone has only \d+ MiB left: .* 64 MiB/);
    store.child.kill('SIGTERM');
    expect(await exitOf(store)).toEqual({ code: 0, signal: null });
  });
});

/** Disks that fail for as long as a file is there, each write and each sync of LMDB's files; what they say of their room stays. */
const faulty = (what: 'FULL' | 'BROKEN' | 'STUCK') => {
  const dir = scene.dir();
  const file = join(dir, what);
  return {
    env: { LD_PRELOAD: compile('../embedded/disk-shim.c', dir), [`DISK_${what}_WHILE`]: file },
    begin: () => writeFileSync(file, ''),
    end: () => rmSync(file),
  };
};
if (noCompiler !== undefined)
  process.stderr.write(`SKIPPED: a gateway on a disk that is full at once: ${noCompiler}\n`);

describe.skipIf(noCompiler !== undefined)('a gateway on a disk that is full at once', { concurrent: true }, () => {
  const goesOn = async (server: Server, disk: ReturnType<typeof faulty>): Promise<void> => {
    const before = await createProject(server);
    disk.begin();
    // With a cluster the first is recorded there, before anybody knows that its rows cannot be written here.
    await eventually(async () => (await askForProject(server)).status === 503 || undefined);
    expectRefusal(await askForProject(server), 503, 'dependency_unavailable');
    expect((await itemsOf(server, paths.projects)).map(({ id }) => id)).toContain(before);
    expect(await use(server, server.first.project_api_key)).toBe('200');
    expect((await answerOf(server)).status).toBe(200);
    disk.end();
    await eventually(async () => (await askForProject(server)).status === 201 || undefined);
    await eventually(
      async () => (await itemsOf(server, paths.projects)).some(({ name }) => name === 'one more') || undefined,
    );
    await server.stop();
  };

  test('refuses commands, serves all else, and goes on by itself', async ({ skip }) => {
    skip(isRemote, noEmbedded);
    const disk = faulty('FULL');
    await goesOn(await startServer({ env: { ...disk.env, DISK_FULL_LATE: 'yes' } }), disk);
  });

  test('does so too when its events are elsewhere', async () => {
    const disk = faulty('FULL');
    const { url } = await startRemoteStore();
    await goesOn(await startServer({ env: { ...disk.env, DISK_FULL_LATE: 'yes', EVENTSTORE_URL: url } }), disk);
  });

  test('stops when it is told to', async ({ skip }) => {
    skip(isRemote, noEmbedded);
    const disk = faulty('FULL');
    const server = await startServer({ env: disk.env });
    disk.begin();
    expect((await askForProject(server)).status).toBe(503);
    await server.stop();
  });

  test('does so too when its events are elsewhere, while reactions wait for rows that find no room', async () => {
    const disk = faulty('FULL');
    const { url } = await startRemoteStore();
    const server = await startServer({ env: { ...disk.env, DISK_FULL_LATE: 'yes', EVENTSTORE_URL: url } });
    disk.begin();
    // The first may be recorded there before anybody knows that its rows cannot be written here.
    await eventually(async () => (await askForProject(server)).status === 503 || undefined);
    await server.stop();
  });
});

describe.skipIf(noCompiler !== undefined || isRemote)('a gateway whose disk', { concurrent: true }, () => {
  test('has failed ends with a code, and says why', async () => {
    const disk = faulty('BROKEN');
    const server = await startServer({ env: disk.env });
    disk.begin();
    await askForProject(server).catch(() => {});
    expect(await exitOf(server.spawned)).toEqual({ code: 1, signal: null });
    expect(server.spawned.stderr()).toContain('The server had to stop: Input/output error');
  });

  test('keeps a commit for ever ends when it is told to', async () => {
    const disk = faulty('STUCK');
    const server = await startServer({ env: disk.env });
    disk.begin();
    const asked = askForProject(server).catch(() => {});
    await eventually(() => existsSync(`${disk.env.DISK_STUCK_WHILE}.seen`) || undefined);
    server.spawned.child.kill('SIGTERM');
    // Node waits for its threads before it exits, and one of them never ends.
    expect(await exitOf(server.spawned)).toEqual({ code: null, signal: 'SIGKILL' });
    expect(server.spawned.stderr()).toContain('the event store could not be closed in time');
    await asked;
  });
});
