// Lane: rest: a torture of the gateway as a process
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createProject } from './calls.ts';
import { weirHere } from './here.ts';
import { isRemote } from './remote-store.ts';
import { freshDir, runWeir, startServer } from './server.ts';

// Several starts, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Pages of LMDB that say where all others are. */
const metaBytes = 2 * 4096;

describe.skipIf(isRemote)('files of a store that kill whoever reads them', () => {
  let sound: string;
  let checkpoint: string;

  beforeAll(async () => {
    const server = await startServer();
    for (let i = 0; i < 20; i++) await createProject(server, `${i} ${'x'.repeat(100)}`);
    await server.stop();
    sound = server.dataDir;
    checkpoint = (await weirHere(['audit', 'checkpoint'], { DATA_DIR: sound })).stdout;
  });

  /** Verifies a copy of the store, which becomes another under its reader's hands, once that has opened it. */
  const verifiedAs = async (become: (file: string) => Promise<void> | void, ...args: string[]) => {
    const dir = freshDir('killed');
    cpSync(sound, dir, { recursive: true });
    // Whoever reads a pipe waits for what is written there: by then it has the store open, and has read no event.
    const pipe = join(freshDir('pipe'), 'checkpoints');
    mkdirSync(dirname(pipe));
    execFileSync('mkfifo', [pipe]);
    const running = runWeir(['audit', 'verify', '--against', pipe, ...args], {
      DATA_DIR: dir,
      SECRETS_DIR: `${sound}.secrets`,
    });
    const writer = await open(pipe, 'w');
    await become(join(dir, 'eventstore', 'events.mdb'));
    await writer.write(checkpoint);
    await writer.close();
    return running;
  };

  test('are verified as long as they are sound', async () => {
    const { code, stderr } = await verifiedAs(() => {});
    expect([code, stderr]).toEqual([0, '']);
  });

  test.each([[], ['--json']])('end the verification with one sentence and its exit status %s', async (...args) => {
    const { code, stdout, stderr } = await verifiedAs((file) => truncateSync(file, metaBytes), ...args);
    const sentence = /^The log cannot be verified\. Reading it kills the process \(SIG[A-Z]+\)\./;
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/ weir store verify names (what is damaged|all of it)\.\n$/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(code).toBe(3);
    if (args.length === 0) expect(stdout).toBe('');
    else expect(JSON.parse(stdout)).toMatchObject([{ verdict: 'unreadable', says: expect.stringMatching(sentence) }]);
  });

  test('are not called whole where all that they hold is something else, and no stack is shown', async () => {
    const { code, stderr } = await verifiedAs(async (file) => {
      const handle = await open(file, 'r+');
      const garbage = Buffer.alloc(statSync(file).size - metaBytes, 0xa5);
      await handle.write(garbage, 0, garbage.length, metaBytes);
      await handle.close();
    });
    // LMDB itself may say something above it.
    expect(stderr).toMatch(
      /(^|\n)The log cannot be verified\. [^\n]+ weir store verify names (what is damaged|all of it)\.\n$/,
    );
    expect(stderr).not.toMatch(/\n? {4}at /);
    expect(code).toBe(3);
  });
});
