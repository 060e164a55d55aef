// Lane: rest: an event store of several nodes, or of others
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import { weirHere } from './here.ts';
import { freshDir, runWeir } from './server.ts';

// A store that is not there is waited for, 15 s of it, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 120_000 });

describe('a connection string of either name', () => {
  let store: Embedded;
  beforeAll(async () => {
    store = await startEmbedded({ dir: freshDir('store'), port: 0, inThread: true });
  });
  afterAll(() => store.close());

  test.each(['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'])(
    '%s:// leads to the store',
    async (scheme) => {
      const env = { DATA_DIR: freshDir(), EVENTSTORE_URL: `${scheme}://${store.endpoint}?tls=false` };
      const made = await weirHere(['org', 'create', '--name', scheme, '--jsonl'], { ...env, SECRETS_DIR: secrets });
      expect(`${made.code} ${made.stderr}`).toBe('0 ');
      const { organization_id: id } = JSON.parse(made.stdout) as { organization_id: string };
      const history = await weirHere(['audit', 'history', id, '--jsonl'], env);
      expect(JSON.parse(history.stdout.split('\n')[0]!)).toMatchObject({ data: { name: scheme } });
    },
  );
  const secrets = freshDir('secrets');
});

describe('a gateway whose EVENTSTORE_URL leads nowhere', () => {
  const start = (url: string, dataDir = freshDir()) =>
    runWeir(['serve'], { PORT: '0', DATA_DIR: dataDir, EVENTSTORE_URL: url });

  test('says at once what is wrong with the string, and writes nothing', async () => {
    const dataDir = freshDir();
    const { code, stdout, stderr } = await start('esdb://svc:pass@127.0.0.1:99999?tls=false', dataDir);
    expect([code, stdout, stderr]).toEqual([
      78,
      '',
      'EVENTSTORE_URL cannot be used: 99999 is no port; there are 1 to 65535.\n',
    ]);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('tells each attempt in one short line, and the end in one sentence', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    await new Promise((resolve) => closed.close(resolve));
    const { code, stderr } = await start(`esdb://svc:pass@127.0.0.1:${port}?tls=false`);
    expect(code).toBe(1);
    const lines = stderr.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^The event store did not answer within \d+\.\d s: .*ECONNREFUSED 127\.0\.0\.1:\d+\.$/);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason: string };
      expect(msg).toBe('store.awaited');
      expect(reason).toMatch(/ECONNREFUSED 127\.0\.0\.1:\d+\.?$/);
      expect(line.length).toBeLessThan(300);
    }
    expect(stderr).not.toMatch(/\bat .*:\d+:\d+|pass/);
  });
});
