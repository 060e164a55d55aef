import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startServer } from './server.ts';

const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));
const requests = 70;
const bytesEach = 33_000_000;
/** A quarter of the budget of 256 MiB holds two bodies of this size. */
const heldAtMost = 2;
/** What node itself needs, the bodies that may be held, and what parsing one of them takes beside that. */
const maxRss = 700 * 1024 * 1024;

const residentBytes = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

const declarationOf = (port: number) => ({
  models: [
    {
      id: 'silent',
      context_length: 100_000_000,
      max_output_length: 1000,
      upstream: {
        kind: 'anthropic',
        base_url: `http://127.0.0.1:${port}`,
        api_key_env: 'UPSTREAM_KEY',
        private_network: true,
      },
    },
  ],
});

test.runIf(process.platform === 'linux')(
  `${requests} requests of 33 MB whose upstream is silent are held or refused, and memory stays bounded`,
  { timeout: 180_000 },
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'weir-large-'));
    const taken = new Set<Socket>();
    let upstreamBytes = 0;
    const silent = createServer((socket) => {
      taken.add(socket);
      socket.on('error', () => {});
      socket.on('data', (data) => {
        upstreamBytes += data.length;
      });
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port: upstreamPort } = silent.address() as AddressInfo;
    // The limits of the tier are not what is tested.
    const tiersFile = fileURLToPath(new URL('../support/wide-tiers.json', import.meta.url));
    const modelsFile = join(dir, 'models.json');
    writeFileSync(modelsFile, JSON.stringify(declarationOf(upstreamPort)));
    const child = spawn(process.execPath, [main, 'serve'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH,
        DATA_DIR: join(dir, 'data'),
        PORT: '0',
        MODELS_FILE: modelsFile,
        TIERS_FILE: tiersFile,
        UPSTREAM_KEY: 'k',
      },
    });
    const exited = new Promise((resolve) => child.once('exit', resolve));
    try {
      let text = '';
      child.stderr.on('data', (data: Buffer) => {
        text += data.toString();
      });
      while (!text.includes('"msg":"listening"')) {
        expect(child.exitCode, text).toBeNull();
        await wait(20);
      }
      const first = JSON.parse(readFileSync(join(dir, 'data', 'first-run.json'), 'utf8'));
      // Half of it in a member that means nothing, half in the text.
      const half = 'x'.repeat((bytesEach - 200) / 2);
      const body = Buffer.from(
        JSON.stringify({
          model: 'silent',
          max_tokens: 5,
          messages: [{ role: 'user', content: [{ type: 'text', text: half, unknown: half }] }],
        }),
      );
      const statuses: number[] = [];
      const headers = { authorization: `Bearer ${first.project_api_key}`, 'content-type': 'application/json' };
      const open = Array.from({ length: requests }, () => {
        const options = {
          method: 'POST',
          headers: { ...headers, 'content-length': body.length },
          agent: false as const,
        };
        const sent = ask(`${first.base_url}/v1/messages`, options, (answer) => {
          statuses.push(answer.statusCode!);
          answer.resume();
        });
        sent.on('error', () => statuses.push(0));
        sent.end(body);
        return sent;
      });
      // Those that are held are not answered.
      while (statuses.length < requests - heldAtMost && child.exitCode === null) await wait(50);
      expect(child.exitCode, text.slice(-2000)).toBeNull();
      // Who is still sending two seconds after the refusal is cut off.
      expect(statuses.filter((status) => status !== 503 && status !== 0)).toEqual([]);
      expect(statuses).toContain(503);
      expect(upstreamBytes).toBeLessThan(heldAtMost * bytesEach * 1.1);
      expect((await fetch(`${first.base_url}/v1/health`)).status).toBe(200);
      expect(residentBytes(child.pid!)).toBeLessThan(maxRss);
      for (const each of open) each.destroy();
    } finally {
      child.kill('SIGKILL');
      await exited;
      for (const socket of taken) socket.destroy();
      silent.close();
      rmSync(dir, { recursive: true, force: true });
    }
  },
);

test('a body that only a thread may read is answered', { timeout: 120_000 }, async () => {
  const server = await startServer();
  const messages = [{ role: 'user', content: 'x'.repeat(70_000) }];
  const answer = await fetch(`${server.baseUrl}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.first.project_api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'weir-sim-1', max_tokens: 5, messages }),
  });
  expect(await answer.text()).toContain('"type":"message"');
  expect(answer.status).toBe(200);
  await server.stop();
});
