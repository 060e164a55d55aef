import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { version } from '../../src/version.ts';
import { workbench } from './run.ts';

vi.setConfig({ testTimeout: 60_000 });

const bench = workbench();
let gateway: Server;
let url: string;
let answer: { status: number; body: string } = { status: 200, body: '' };
const ready = (upstreams: object) => ({
  status: 200,
  body: JSON.stringify({ status: 'ok', age_ms: 7, upstreams }),
});

beforeAll(async () => {
  gateway = createServer((_, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => gateway.once('listening', resolve));
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(() => {
  gateway.close();
  bench.clean();
});

type Line = { part: string; name: string; state: string; detail: string };
const status = async (...argv: string[]) => {
  const { code, out, err } = await bench.weir(['status', '--url', url, '--json', ...argv]);
  const lines = JSON.parse(out) as Line[];
  return { code, err, lines, of: (part: string) => lines.filter((line) => line.part === part) };
};

describe('weir status', () => {
  test('without a store or a gateway says so, and what to do', async () => {
    const { code, out, err } = await bench.weir(['status', '--url', 'http://127.0.0.1:1', '--wide']);
    expect(code).toBe(1);
    expect(out).toContain(version);
    expect(out).toMatch(/gateway +http:\/\/127\.0\.0\.1:1 +no answer .*weir serve starts it/);
    expect(out).toMatch(/store +embedded +away +There is no event store in /);
    expect(err).toMatch(/^The gateway at http:\/\/127\.0\.0\.1:1 is not ready: [^\n]+\n$/);
  });
  test('takes no other server for a gateway that is ready', async () => {
    answer = { status: 200, body: '{}' };
    const { code, of } = await status();
    expect(code).toBe(1);
    expect(of('gateway')).toMatchObject([{ state: 'not ready', detail: 'it answers, and not as Weir does' }]);
  });
  test('of a ready gateway shows store, lists, windows and models', async () => {
    await bench.json('org', 'create', '--new-store', '--name', 'Acme');
    answer = ready({});
    const { code, err, of } = await status();
    expect([code, err]).toEqual([0, '']);
    expect(of('gateway')).toMatchObject([{ name: url, state: 'ready', detail: expect.stringContaining('7 ms') }]);
    expect(of('store')).toMatchObject([
      { name: 'embedded', state: 'there', detail: expect.stringContaining('newest') },
    ]);
    // Nobody keeps them here: the command itself brought them up to date.
    expect(of('lists')).toMatchObject([{ state: 'current' }]);
    expect(of('windows')).toMatchObject([{ state: 'none' }]);
    expect(of('model').map(({ name, state }) => [name, state])).toEqual([
      ['weir-sim-1', 'declared'],
      ['weir-sim-thinking-1', 'declared'],
    ]);
  });
  describe('of models', () => {
    const env = bench.env as Record<string, string>;
    const declare = (text: string): void => {
      env.MODELS_FILE = join(bench.dir, 'models.json');
      writeFileSync(env.MODELS_FILE, text);
    };
    afterAll(() => {
      delete env.MODELS_FILE;
    });
    const upstream = (name: string) => ({
      name,
      kind: 'anthropic',
      base_url: `https://${name}.example`,
      api_key_env: 'K',
    });
    const both = {
      id: 'both',
      context_length: 9,
      max_output_length: 9,
      upstreams: [upstream('east'), upstream('west')],
    };

    test('names each upstream of one with its breaker', async () => {
      env.K = 'secret-of-theirs';
      declare(JSON.stringify({ models: [both] }));
      const until = Math.floor(Date.now() / 1000) + 30;
      const health = [
        { name: 'east', state: 'closed', until: null },
        { name: 'west', state: 'open', until },
      ];
      answer = ready({ both: health });
      const { of, lines } = await status('--utc');
      const at = new Date(until * 1000).toISOString().slice(0, 19).replace('T', ' ');
      expect(of('model')).toEqual([
        { part: 'model', name: 'both by east', state: 'closed', detail: '' },
        { part: 'model', name: 'both by west', state: 'open', detail: `asked again at ${at}Z` },
      ]);
      expect(JSON.stringify(lines)).not.toContain('secret-of-theirs');
      answer = { status: 503, body: '{}' };
      expect((await status()).of('model')).toMatchObject([{ detail: '2 upstreams, health not known' }]);
    });
    test('tells of a faulty file in its line', async () => {
      declare('{');
      answer = ready({});
      const { code, of } = await status();
      expect(code).toBe(0);
      expect(of('model')).toMatchObject([{ name: env.MODELS_FILE, state: 'faulty' }]);
    });
  });
  test.each([
    ['gateway.example', /is not a URL such as/],
    ['file:///etc/passwd', /is not a URL such as/],
    ['http://jo:secret@127.0.0.1', /^Give the URL without a user and a password\.\n$/],
  ])('does not ask %s', async (where, complaint) => {
    const { code, out, err } = await bench.weir(['status', '--url', where]);
    expect([code, out]).toEqual([64, '']);
    expect(err).toMatch(complaint);
    expect(err).not.toContain('secret');
  });
  test('of a gateway that is not ready says why, and shows the rest', async () => {
    const message = 'Not available: event store \u001b[31m.';
    answer = { status: 503, body: JSON.stringify({ error: { message, code: 'dependency_unavailable' } }) };
    const { code, err, of } = await status();
    expect(code).toBe(1);
    expect(of('gateway')).toMatchObject([{ state: 'not ready', detail: 'Not available: event store \\u001b[31m.' }]);
    expect(err).not.toContain('\u001b');
    expect(of('store')).toMatchObject([{ state: 'there' }]);
  });
  test.each([
    ['nonsense', { status: 200, body: '<html>' }],
    ['an empty answer', { status: 204, body: '' }],
    ['another server', { status: 404, body: '{"detail":"Not Found"}' }],
  ])('takes %s for no gateway', async (_, said) => {
    answer = said;
    const { code, of } = await status();
    expect(code).toBe(1);
    expect(of('gateway')[0]?.state).not.toBe('ready');
  });
  test('damaged windows are told in their line', async () => {
    answer = ready({});
    mkdirSync(join(bench.env.DATA_DIR, 'limits'), { recursive: true });
    writeFileSync(join(bench.env.DATA_DIR, 'limits', 'inference-1.windows'), 'nonsense');
    const { code, of } = await status();
    expect(code).toBe(0);
    expect(of('windows').map(({ name, state }) => `${name} ${state}`)).toEqual([
      'inference damaged',
      'credits none',
      'administration none',
    ]);
  });
});
