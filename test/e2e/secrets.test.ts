import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { serve as serveUpstream } from '../upstream/mock.ts';
import { askForKey, call, createKey, createProject, errorOf, freshKey, paths, use } from './calls.ts';
import { weirHere } from './here.ts';
import { freshDir, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 120_000 });

const secret = (): string => randomBytes(32).toString('hex');

describe('the peppers', () => {
  test('are replaced in the file while it keeps the previous one', async () => {
    const dataDir = freshDir();
    let server = await startServer({ dataDir });
    const { first } = server;
    // Beside a running server, which goes on as it was.
    expect((await weirHere(['secrets', 'rotate-pepper'], { DATA_DIR: dataDir })).code).toBe(0);
    expect(await use(server, (await createKey(server, first.project_id)).value)).toBe('200');
    await server.stop();
    server = await startServer({ dataDir });
    expect(await use(server, first.project_api_key)).toBe('200');
    expect(await use(server, (await createKey(server, first.project_id)).value)).toBe('200');
    await server.stop();
  });

  test('come from the environment as well, and then no file holds them', async () => {
    const dataDir = freshDir();
    const [MASTER_KEY, old, next] = [secret(), secret(), secret()];
    const start = (env: Record<string, string>): Promise<Server> =>
      startServer({ dataDir, env: { MASTER_KEY, ...env } });
    let server = await start({ PEPPER: old });
    const { first } = server;
    expect(existsSync(`${dataDir}.secrets/secrets.json`)).toBe(false);
    const idempotencyKey = freshKey();
    const made = await askForKey(server, first.project_id, { name: 'x' }, idempotencyKey);
    await server.stop();
    server = await start({ PEPPER: next, PREVIOUS_PEPPER: old });
    expect(await use(server, first.project_api_key)).toBe('200');
    expect((await askForKey(server, first.project_id, { name: 'x' }, idempotencyKey)).text).toBe(made.text);
    const fresh = await createKey(server, first.project_id);
    await server.stop();
    server = await start({ PEPPER: next });
    expect(await use(server, first.project_api_key)).toBe('401 invalid_api_key');
    expect(await use(server, fresh.value)).toBe('200');
    await server.stop();
  });
});

/** Everything that a text could give away. */
interface Canary {
  readonly name: string;
  readonly value: string;
}

test('no secret is in the log, however much is logged, nor in any file but those that are for secrets', async () => {
  const canaries: Canary[] = [];
  const canary = (name: string, value: string): string => {
    canaries.push({ name, value });
    return value;
  };
  const upstreamKey = canary('the key of an upstream', `sk-canary-${secret()}`);
  // An upstream that says in its refusal what it was sent.
  const upstream = await serveUpstream((request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ type: 'error', error: { type: 'x', message: `bad ${request.headers['x-api-key']}` } }),
    );
  });
  const dataDir = freshDir();
  const models = `${dataDir}.models.json`;
  const hosted = {
    kind: 'anthropic',
    base_url: upstream.url,
    api_key_env: 'UPSTREAM_KEY',
    model: 'm',
    private_network: true,
  };
  const model = { id: 'm', context_length: 1000, max_output_length: 100, upstream: hosted };
  writeFileSync(models, JSON.stringify({ models: [model] }));
  const server = await startServer({
    dataDir,
    env: {
      LOG_LEVEL: 'trace',
      MODELS_FILE: models,
      UPSTREAM_KEY: upstreamKey,
      PEPPER: canary('the pepper', secret()),
      PREVIOUS_PEPPER: canary('the previous pepper', secret()),
      MASTER_KEY: canary('the master key', secret()),
    },
  });
  const { first } = server;
  // These are in first-run.json, which is for them.
  canary('the first Admin key', first.admin_api_key);
  canary('the first key', first.project_api_key);

  const project = await createProject(server);
  const idempotencyKey = canary('an Idempotency-Key', freshKey());
  for (let times = 0; times < 2; times++) await askForKey(server, project, { name: 'x' }, idempotencyKey);
  const key = await createKey(server, project);
  canary('a project key', key.value);
  const adminKey = await call(server, 'POST', paths.adminKeys, {
    body: { name: 'a' },
    headers: { 'idempotency-key': freshKey() },
  });
  canary('an Admin key', String(adminKey.body.value));
  const env = { DATA_DIR: dataDir, LOG_LEVEL: 'trace', PEPPER: canaries[1]!.value, MASTER_KEY: canaries[3]!.value };
  const command = ['oauth-client', 'create', first.organization_id, '--name', 'robot', '--jsonl'];
  const made = JSON.parse((await weirHere(command, env)).stdout) as Record<string, string>;
  canary('a client secret', made.client_secret ?? '');
  const form = (path: string, fields: Record<string, string>, query = '') =>
    fetch(`${server.baseUrl}${path}${query}`, { method: 'POST', body: new URLSearchParams(fields) });
  const client = { client_id: made.client_id ?? '', client_secret: made.client_secret ?? '' };
  const answer = await form('/v1/oauth/token', { ...client, grant_type: 'client_credentials' });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  canary('an access token', token);
  expect((await call(server, 'GET', paths.projects, { key: token })).status).toBe(200);

  // In every place where a secret may turn up, right and wrong ones.
  const wrong = (name: string): string => canary(name, `gwa_${secret().slice(0, 49)}`);
  await call(server, 'GET', paths.projects, { key: wrong('a bad Admin key') });
  await call(server, 'GET', '/v1/models', { key: null, headers: { 'x-api-key': wrong('a bad x-api-key') } });
  await call(server, 'GET', paths.projects, {
    key: null,
    headers: { authorization: `Basic ${wrong('a bad scheme')}` },
  });
  await call(server, 'GET', `${paths.projects}?after=${wrong('a cursor')}`);
  await call(server, 'GET', paths.project(wrong('a path')));
  expect((await call(server, 'GET', `${paths.projects}?after=${key.value}`)).status).toBe(400);
  expect((await call(server, 'GET', paths.project(key.value))).status).toBe(404);
  await call(server, 'POST', paths.projects, { body: { name: 'x', [wrong('a field')]: wrong('its value') } });
  await call(server, 'POST', paths.projects, { raw: `{"name": "${wrong('broken JSON')}` });
  await form('/v1/oauth/token', {
    ...client,
    client_secret: wrong('a bad client secret'),
    grant_type: 'client_credentials',
  });
  await form('/v1/oauth/token', {}, `?client_secret=${wrong('a client secret in the query')}`);
  await form('/v1/oauth/revoke', { ...client, token });
  const message = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: wrong('a prompt') }] };
  const refused = await call(server, 'POST', '/v1/messages', { key: key.value, body: message });
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.text).not.toContain(upstreamKey);
  expect(errorOf(refused.body).message).toBeTruthy();
  const streamed = await call(server, 'POST', '/v1/messages', { key: key.value, body: { ...message, stream: true } });
  expect(streamed.text).not.toContain(upstreamKey);
  await server.stop();
  await upstream.close();

  const log = server.spawned.stderr();
  expect(server.log().length).toBeGreaterThan(10);
  // The first start shows its keys on a terminal alone.
  const out = server.spawned.stdout();
  const inText = (text: string): string[] =>
    canaries.filter(({ value }) => text.includes(value)).map(({ name }) => name);
  expect(canaries.length).toBeGreaterThan(18);
  expect(inText(log)).toEqual([]);
  expect(inText(out)).toEqual([]);
  for (const dir of [dataDir, `${dataDir}.secrets`]) {
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name === 'first-run.json') continue;
      const file = join(entry.parentPath, entry.name);
      expect([file, inText(readFileSync(file, 'latin1'))]).toEqual([file, []]);
    }
  }
  // What looks for canaries finds them where they are.
  expect(inText(readFileSync(join(dataDir, 'first-run.json'), 'utf8'))).toHaveLength(2);
});
