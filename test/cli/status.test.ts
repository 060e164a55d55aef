import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { version } from '../../src/version.ts';
import { certificateAuthority, signedBy } from '../support/certificates.ts';
import { workbench } from './run.ts';

vi.setConfig({ testTimeout: 60_000 });

const bench = workbench();
let gateway: Server;
let url: string;
let answer: { status: number; body: string } = { status: 200, body: '' };
/** What it says of its models, and the keys that it was asked with, by path. */
let models: { status: number; body: object } = { status: 200, body: {} };
let asked: { path: string | undefined; key: string | undefined }[] = [];
const ready = (upstreams: object) => ({
  status: 200,
  body: JSON.stringify({ status: 'ok', age_ms: 7, upstreams }),
});

const gatewayOf: RequestListener = (request, response) => {
  asked.push({ path: request.url, key: request.headers.authorization });
  const isOfModels = request.url === '/v1/models';
  const { status, body } = isOfModels ? { ...models, body: JSON.stringify(models.body) } : answer;
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
};

beforeAll(async () => {
  gateway = createServer(gatewayOf).listen(0, '127.0.0.1');
  await new Promise((resolve) => gateway.once('listening', resolve));
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
});
afterAll(() => {
  gateway.close();
  bench.clean();
});

type Line = { part: string; name: string; state: string; detail: string };
const env = bench.env as Record<string, string>;
const asking = async (...argv: string[]) => {
  const { code, out, err } = await bench.weir(['status', '--json', ...argv]);
  const lines = JSON.parse(out) as Line[];
  return { code, err, lines, of: (part: string) => lines.filter((line) => line.part === part) };
};
/** Of the gateway of this environment. */
const status = (...argv: string[]) => {
  env.PORT = new URL(url).port;
  return asking(...argv);
};
/** Of a gateway that `--url` names. */
const statusOfUrl = (...argv: string[]) => asking('--url', url, ...argv);

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
        { part: 'model', name: 'both by east', state: 'breaker closed', detail: '' },
        { part: 'model', name: 'both by west', state: 'breaker open', detail: `asked again at ${at}Z` },
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
  describe('of the models of the gateway', () => {
    const model = (id: string, is_ready = true, available = true) => ({ id, is_ready, access: { available } });
    const health = { far: [{ name: 'east', state: 'closed', until: null }] };

    test('with --url and without a key lists none of this environment, and says that a key shows them', async () => {
      answer = ready(health);
      const { code, lines } = await statusOfUrl();
      expect(code).toBe(0);
      expect(lines.filter(({ part }) => part.startsWith('model'))).toEqual([
        {
          part: 'models',
          name: 'served',
          state: 'not known',
          detail: '--key with a project key shows the models of the gateway',
        },
        { part: 'model', name: 'far by east', state: 'breaker closed', detail: '' },
      ]);
      answer = { status: 200, body: JSON.stringify({ status: 'ok' }) };
      expect((await statusOfUrl()).of('model')).toEqual([]);
    });
    test('without a key says that it shows those of this environment, and what the gateway tells anybody', async () => {
      answer = ready(health);
      const { code, of } = await status();
      expect(code).toBe(0);
      const detail = expect.stringMatching(/^those of MODELS_FILE in this environment: --key with a project key /);
      expect(of('models')).toEqual([{ part: 'models', name: 'declared', state: 'not asked', detail }]);
      expect(of('model').map(({ name }) => name)).toEqual(['weir-sim-1', 'weir-sim-thinking-1', 'far by east']);
    });
    test.each([
      ['--key', ['--key', 'gwp_mine'], {}],
      ['PROJECT_API_KEY', [], { PROJECT_API_KEY: 'gwp_mine' }],
    ])('with %s shows those that it serves, and sends the key for nothing else', async (_, argv, more) => {
      answer = ready(health);
      models = {
        status: 200,
        body: { data: [model('far'), model('near'), model('cold', false), model('dear', true, false)] },
      };
      asked = [];
      Object.assign(env, more);
      const { code, lines } = await statusOfUrl(...argv);
      delete env.PROJECT_API_KEY;
      expect(code).toBe(0);
      expect(lines.filter(({ part }) => part.startsWith('model'))).toEqual([
        { part: 'models', name: 'served', state: 'told', detail: '4 of them, as the gateway says' },
        { part: 'model', name: 'far by east', state: 'breaker closed', detail: '' },
        { part: 'model', name: 'near', state: 'served', detail: '' },
        { part: 'model', name: 'cold', state: 'not ready', detail: '' },
        { part: 'model', name: 'dear', state: 'served', detail: 'not available to this key' },
      ]);
      expect(asked).toEqual([
        { path: '/v1/ready?verbose', key: undefined },
        { path: '/v1/models', key: 'Bearer gwp_mine' },
      ]);
    });
    test.each([
      [
        'a refusal',
        { status: 401, body: { error: { message: 'No such key.' } } },
        /answered 401 to the key: No such key\.$/,
      ],
      ['an answer that is none', { status: 200, body: {} }, /answers, and not as Weir does$/],
    ])('after %s shows those of this environment, and why', async (_, said, why) => {
      models = said;
      const { code, of } = await status('--key', 'gwp_mine');
      expect(code).toBe(0);
      expect(of('models')).toMatchObject([{ state: 'not asked', detail: expect.stringMatching(why) }]);
      expect(of('model')).toHaveLength(3);
      const named = await statusOfUrl('--key', 'gwp_mine');
      expect(named.of('models')).toMatchObject([{ state: 'not known', detail: expect.stringMatching(why) }]);
      expect(named.of('model').map(({ name }) => name)).toEqual(['far by east']);
    });
  });
  test('does not judge the certificate of a gateway on this machine, and says when it ends', async () => {
    const authority = certificateAuthority();
    for (const [to, said] of [
      [24, 'expires at '],
      [-0.5, 'expired at '],
    ] as const) {
      const server = createTlsServer(signedBy(authority, ['gateway.example'], { to }), gatewayOf);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      answer = ready({});
      for (const host of ['127.0.0.1', 'localhost']) {
        const { code, of } = await asking('--url', `https://${host}:${port}`);
        expect(code).toBe(0);
        expect(of('gateway')).toMatchObject([
          { state: 'ready', detail: expect.stringContaining(`certificate ${said}`) },
        ]);
      }
      // The same place by an address that is not taken for this machine's.
      const { code, of } = await asking('--url', `https://[::ffff:127.0.0.1]:${port}`);
      expect(code).toBe(1);
      expect(of('gateway')).toMatchObject([
        { state: 'no answer', detail: expect.stringContaining('(NODE_EXTRA_CA_CERTS names ') },
      ]);
      server.closeAllConnections();
      server.close();
    }
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
