import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freshDir, runWeir, type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const origin = 'https://console.example';
let server: Server;
beforeAll(async () => {
  server = await startServer({ env: { CORS_ORIGINS: `http://localhost:3000, ${origin}` } });
});
afterAll(() => server.stop());

const setByTheBrowser = /^(host|connection|content-length|accept(-.*)?|sec-.*|origin)$/;
const hidden = new TypeError('Failed to fetch');

/** What `fetch` is to a page of this origin: the CORS protocol of the Fetch standard, for requests that need a preflight. */
const pageFetch =
  (page: string): typeof fetch =>
  async (input, init) => {
    const wanted = new Request(input, init);
    const { url, method } = wanted;
    const names = [...wanted.headers.keys()].filter((name) => !setByTheBrowser.test(name)).sort();
    const allows = ({ headers }: Response) => headers.get('access-control-allow-origin') === page;
    const listed = ({ headers }: Response, what: string) =>
      (headers.get(`access-control-${what}`) ?? '').toLowerCase().split(', ');
    const asked = {
      origin: page,
      'access-control-request-method': method,
      'access-control-request-headers': names.join(','),
    };
    const preflight = await fetch(url, { method: 'OPTIONS', headers: asked });
    const granted = new Set(listed(preflight, 'allow-headers'));
    const isGranted = listed(preflight, 'allow-methods').includes(method.toLowerCase());
    if (!preflight.ok || !allows(preflight) || !isGranted || !names.every((name) => granted.has(name))) throw hidden;
    wanted.headers.set('origin', page);
    const answer = await fetch(wanted);
    if (!allows(answer)) throw hidden;
    const shown = new Set(['content-type', 'content-length', 'cache-control', ...listed(answer, 'expose-headers')]);
    const headers = [...answer.headers].filter(([name]) => shown.has(name));
    return new Response(answer.body, { status: answer.status, headers });
  };

const message = { model: 'weir-sim-1', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] } as const;
const modelsOf = (page: string) =>
  new Anthropic({
    baseURL: server.baseUrl,
    apiKey: server.first.project_api_key,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
    fetch: pageFetch(page),
  });
const consoleOf = (page: string) =>
  new OpenAI({
    baseURL: `${server.baseUrl}/v1`,
    apiKey: server.first.admin_api_key,
    adminAPIKey: server.first.admin_api_key,
    dangerouslyAllowBrowser: true,
    maxRetries: 0,
    fetch: pageFetch(page),
  });

describe('a page of an allowed origin', () => {
  test('calls the models with the SDK, streamed too', async () => {
    const client = modelsOf(origin);
    const { data, response } = await client.messages
      .create({ ...message, messages: [...message.messages] })
      .withResponse();
    expect(data.role).toBe('assistant');
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toMatch(/^\d+$/);
    const final = await client.messages.stream({ ...message, messages: [...message.messages] }).finalMessage();
    expect(final.role).toBe('assistant');
  });
  test('administers, and is told why it may not', async () => {
    const client = consoleOf(origin);
    const names = [];
    for await (const project of client.admin.organization.projects.list()) names.push(project.name);
    expect(names).toHaveLength(1);
    await expect(client.get('/organization/projects/proj_none')).rejects.toMatchObject({ status: 404 });
    const body = { name: 'from a page' };
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const path = `/organization/projects/${server.first.project_id}/api_keys`;
    expect(await client.post(path, { body, headers })).toMatchObject(body);
  });
  test('has nothing to do with policies', async () => {
    const client = consoleOf(origin);
    await expect(client.get('/organization/policies')).rejects.toMatchObject({ cause: hidden });
  });
});

test('a page of another origin reads nothing', async () => {
  await expect(modelsOf('https://evil.example').models.list()).rejects.toMatchObject({ cause: hidden });
  await expect(consoleOf('https://evil.example').get('/organization')).rejects.toMatchObject({ cause: hidden });
});

test('a list that has something else than origins is refused at the start', async () => {
  const { code, stderr } = await runWeir(['serve'], { DATA_DIR: freshDir(), CORS_ORIGINS: `${origin},*` });
  expect(code).not.toBe(0);
  expect(stderr).toContain('CORS_ORIGINS: has "*", which is not an origin as browsers send it: scheme://host[:port]');
});
