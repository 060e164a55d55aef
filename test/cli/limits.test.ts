import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { program } from '../../src/cli/program.ts';
import { workbench } from './run.ts';

let bench: ReturnType<typeof workbench>;
let server: Server;
let url: string;
let asked: { path: string; key: string | undefined }[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;

const scope = (name: string, id: string, used: number) => ({
  scope: name,
  id,
  windows: [
    { metric: 'requests_per_minute', limit: 60, used, remaining: 60 - used, resets_in_seconds: 12.5 },
    { metric: 'concurrent_requests', limit: 4, used: 1, remaining: 3, resets_in_seconds: null },
  ],
  last_refusal: null,
});
const limits = (more: object = {}) => ({
  object: 'organization.project.api_key.limits',
  api_key_id: 'key_1',
  shared_with: [],
  tier: 2,
  last_refusal: null,
  scopes: [scope('api_key', 'key_1', 7)],
  credits: [scope('api_key', 'key_1', 3)],
  ...more,
});
const json = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const error = (message: string) => ({ error: { message } });

beforeEach(async () => {
  bench = workbench();
  asked = [];
  answer = (_, response) => json(response, 200, limits());
  server = createServer((request, response) => {
    asked.push({ path: request.url ?? '', key: request.headers.authorization });
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  bench.clean();
});

const weir = async (args: readonly string[], env: Record<string, string> = {}) => {
  let [out, err] = ['', ''];
  const code = await program({
    argv: ['limits', ...args],
    env: { ...bench.env, ...env },
    interrupted: () => new Promise(() => {}),
    endSoon: () => {},
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    user: 'jo',
    host: 'here',
    columns: 120,
  });
  return { code, out, err };
};
const firstRun = (base_url = url) => {
  mkdirSync(bench.env.DATA_DIR, { recursive: true });
  const made = {
    base_url,
    organization_id: 'org_1',
    admin_api_key: 'gwa_first',
    project_id: 'proj_1',
    project_api_key: 'gwp_first',
    admin_api_key_id: 'akey_1',
    project_api_key_id: 'key_1',
  };
  writeFileSync(join(bench.env.DATA_DIR, 'first-run.json'), JSON.stringify(made));
};
const path = (project: string) => `/v1/organization/projects/${project}/api_keys/key_1/limits`;

describe('weir limits', () => {
  test('prints every window and what refused last', async () => {
    const refusal = { at: 1_790_000_000, limits: [{ scope: 'project', metric: 'tokens_per_minute' }] };
    answer = (_, response) => json(response, 200, limits({ last_refusal: refusal }));
    const { code, out } = await weir(['key_1', '--url', url, '--key', 'gwa_mine', '--project', 'proj_1', '--utc']);
    expect(code).toBe(0);
    expect(asked).toEqual([{ path: path('proj_1'), key: 'Bearer gwa_mine' }]);
    expect(out).toMatch(/api key +requests per minute +60 +7 +53 +12\.5 s +key_1/);
    expect(out).toMatch(/concurrent requests +4 +1 +3 +when one ends/);
    expect(out).toMatch(/balance reads per minute +60 +3/);
    expect(out).toContain('Tier 2. Refused last at 2026-09-21 14:13:20Z by: tokens per minute of the project.');
  });

  test('prints the answer itself with --json', async () => {
    const { out } = await weir(['key_1', '--url', `${url}/`, '--key', 'gwa_mine', '--project', 'proj_1', '--json']);
    expect(JSON.parse(out)).toEqual([limits()]);
  });

  test('finds the project, over pages and projects without the key', async () => {
    answer = ({ url: asking = '' }, response) => {
      if (asking === path('proj_7')) json(response, 200, limits());
      else if (asking.includes('/limits')) json(response, 404, error('No such API key in this project.'));
      else if (asking.includes('after='))
        json(response, 200, { data: [{ id: 'proj_7' }], has_more: false, last_id: '' });
      else json(response, 200, { data: [{ id: 'proj_9' }, { id: 'proj_8' }], has_more: true, last_id: 'proj_8' });
    };
    expect((await weir(['key_1', '--url', url], { ADMIN_API_KEY: 'gwa_env' })).code).toBe(0);
    const projects = '/v1/organization/projects?limit=100&order=desc&include_archived=true';
    expect(asked.map((each) => each.path)).toEqual([
      projects,
      path('proj_9'),
      path('proj_8'),
      `${projects}&after=proj_8`,
      path('proj_7'),
    ]);
  });

  test('takes place and key from the first run where nothing else is given, and sends that key nowhere else', async () => {
    firstRun();
    expect((await weir(['key_1', '--project', 'proj_1'])).code).toBe(0);
    expect(asked.at(-1)?.key).toBe('Bearer gwa_first');
    const elsewhere = await weir(['key_1', '--url', url, '--project', 'proj_1']);
    expect([elsewhere.code, elsewhere.err]).toEqual([1, 'Give an Admin key by --key or ADMIN_API_KEY.\n']);
    expect(asked).toHaveLength(1);
  });

  test('waits where it has asked too often', async () => {
    let calls = 0;
    answer = (_, response) =>
      ++calls === 1 ? json(response, 429, error('slow down'), { 'retry-after': '1' }) : json(response, 200, limits());
    const begun = performance.now();
    expect((await weir(['key_1', '--url', url, '--key', 'a', '--project', 'proj_1'])).code).toBe(0);
    expect(performance.now() - begun).toBeGreaterThan(900);
  });

  test.each([
    ['a key that is nowhere', 404, {}, 'There is no project key key_1 in the project proj_1.'],
    ['a refusal', 403, error('The credential lacks it.'), 'answered 403: The credential lacks it.'],
    ['an answer that is none', 500, {}, 'answered 500: no reason given'],
  ])('says in one sentence: %s', async (_, status, body, sentence) => {
    answer = (__, response) => json(response, status, body);
    const { code, out, err } = await weir(['key_1', '--url', url, '--key', 'a', '--project', 'proj_1']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(sentence);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  test('says in one sentence that nobody is there, or that it is nowhere to go', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const gone = await weir(['key_1', '--url', url, '--key', 'a']);
    expect(gone.err).toMatch(
      /^The server at http:\/\/127\.0\.0\.1:\d+ cannot be asked: .*ECONNREFUSED.* weir status says whether one runs here; --url names another\.\n$/,
    );
    const odd = await weir(['key_1', '--url', 'ftp://x', '--key', 'a']);
    expect(odd).toMatchObject({ code: 64, err: 'ftp://x is not a URL such as http://127.0.0.1:8080.\n' });
    expect((await weir(['key_1', '--url', url, '--key', 'a b'])).err).toMatch(/characters that no key has/);
  });

  test('says in its help that it asks the server, where and with what', async () => {
    const { out } = await weir(['--help']);
    for (const word of ['over HTTP', '--url', 'ADMIN_API_KEY', 'first-run.json', 'project_api_keys:read'])
      expect(out).toContain(word);
  });
});
