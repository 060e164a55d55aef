import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { noMount, tmpfs } from '../torture/loop-disk.ts';
import { Scene } from '../torture/scene.ts';
import { call, createProject, expectRefusal, freshKey, itemsOf, paths, use } from './calls.ts';
import { isRemote } from './remote-store.ts';
import { eventually, type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Decisions and reliability.md D5. */
const recoveryMs = 5_000;
const mib = 1024 * 1024;
const why = isRemote ? 'the store is elsewhere' : noMount();
if (why !== undefined) process.stderr.write(`SKIPPED: a gateway on a full disk: ${why}\n`);

const scene = new Scene();
afterAll(() => scene.end());
/** Room for what the store demands of a disk, and for somebody else to take it. */
const megabytes = 192;

/** Takes the disk until so much is left: no faster than the store looks at it, twice a second, can keep up with. */
const fillTo = async (path: string, leftBytes: number): Promise<void> => {
  const file = openSync(join(path, 'others'), 'a');
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(path);
      const more = Math.min(16 * mib, bavail * bsize - leftBytes);
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

describe.concurrent('a gateway', () => {
  test.skipIf(why !== undefined).each([
    ['nearly full', 24 * mib],
    ['full to the last byte', 0],
  ])('on a disk that is %s commands are refused, all else is served, and it goes on by itself', async (_, left) => {
    const path = tmpfs(scene, megabytes);
    const server = await startServer({ dataDir: join(path, 'data') });
    const before = await createProject(server);
    await fillTo(path, left);
    const refused = await askForProject(server);
    expectRefusal(refused, 503, 'dependency_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // Two savings of the rate limits and of the last uses fail meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect((await itemsOf(server, paths.projects)).map(({ id }) => id)).toContain(before);
    expect(await use(server, server.first.project_api_key)).toBe('200');
    expect((await answerOf(server)).status).toBe(200);

    rmSync(join(path, 'others'));
    const freed = performance.now();
    await eventually(async () => (await askForProject(server)).status === 201 || undefined);
    expect(performance.now() - freed).toBeLessThan(recoveryMs);
    await server.stop();
    // What was acknowledged is there, and what was refused is not.
    const again = await startServer({ dataDir: join(path, 'data') });
    const names = (await itemsOf(again, paths.projects)).map(({ name }) => name);
    expect(names.filter((name) => name === 'one more')).toHaveLength(1);
    expect(names).toContain('a project');
    await again.stop();
  });
});
