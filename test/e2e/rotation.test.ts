import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, call, createKey, createProject, freshKey, type Json, type Made, paths, use } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** The spec's own table of limits: an empty variable counts as absent. */
const bySpec = { TIERS_FILE: '' };
let server: Server;
afterAll(() => server?.stop());

const rotate = (project: string, id: string, grace_seconds: number, key = freshKey()): Promise<Answer> =>
  call(server, 'POST', `${paths.projectKeys(project)}/${id}/rotate`, {
    body: { grace_seconds },
    headers: { 'idempotency-key': key },
  });
const limitsOf = async (project: string, id: string): Promise<Json> =>
  (await call(server, 'GET', `${paths.projectKeys(project)}/${id}/limits`)).body;
const usedBy = async (project: string, id: string): Promise<number> => {
  const [own] = (await limitsOf(project, id)).scopes as { windows: { used: number }[] }[];
  return own!.windows[0]!.used;
};
const times = async (n: number, keys: readonly string[]): Promise<string[]> => {
  const told: string[] = [];
  for (let i = 0; i < n; i++) told.push(await use(server, keys[i % keys.length]!));
  return told;
};
const successorOf = ({ status, body, text }: Answer): Made => {
  expect(status, text).toBe(201);
  return { id: String(body.id), value: String(body.value) };
};

describe('a key and its successor', () => {
  let project: string;
  let old: Made;
  let next: Made;
  beforeAll(async () => {
    server = await startServer({ env: bySpec });
    project = await createProject(server, 'rotating');
    old = await createKey(server, project, { name: 'laptop' });
  });

  test('share the minute that the key has begun, and both work', async () => {
    expect(new Set(await times(10, [old.value]))).toEqual(new Set(['200']));
    next = successorOf(await rotate(project, old.id, 600));
    expect(new Set(await times(20, [old.value, next.value]))).toEqual(new Set(['200']));
    expect([await usedBy(project, old.id), await usedBy(project, next.id)]).toEqual([30, 30]);
    expect((await limitsOf(project, old.id)).shared_with).toEqual([next.id]);
  });

  test('share it over a restart and over the death of the process', async () => {
    await server.stop();
    server = await startServer({ dataDir: server.dataDir, env: bySpec });
    expect(await usedBy(project, next.id)).toBe(30);
    expect(new Set(await times(20, [next.value, old.value]))).toEqual(new Set(['200']));
    // What has been counted is in the files within a second.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await server.kill();
    server = await startServer({ dataDir: server.dataDir, env: bySpec });
    // A machine that took a minute for this has forgotten what was before it.
    const left = 60 - (await usedBy(project, old.id));
    const told = await times(left + 2, [old.value, next.value]);
    if (left === 10) expect(told).toEqual([...Array(10).fill('200'), ...Array(2).fill('429 rate_limit_exceeded')]);
    expect(told.at(-1)).toBe('429 rate_limit_exceeded');
    const refused = await call(server, 'GET', '/v1/models', { key: next.value });
    expect(refused.text).toContain(
      'this API key, together with those that it was rotated from or to, is limited to 60',
    );
  });

  test('are told of together by weir limits, each under its own id', async () => {
    const { stdout, stderr } = await weirHere(['limits', next.id, '--project', project], { DATA_DIR: server.dataDir });
    expect(stderr).toBe('');
    expect(stdout).toContain(`Its windows are also those of ${old.id}.`);
    expect(stdout).toMatch(new RegExp(`^api key +requests per minute +60 +60 +0 .* ${next.id}$`, 'm'));
  });

  test('are both in the audit log, and a dead one takes nothing from the other', async () => {
    const { body } = await call(
      server,
      'GET',
      `/v1/organization/audit_logs?resource_ids[]=${old.id}&resource_ids[]=${next.id}`,
    );
    const entries = body.data as Json[];
    expect(entries.map(({ type }) => type)).toEqual(['api_key.rotated', 'api_key.created', 'api_key.created']);
    expect(entries[0]?.['api_key.rotated']).toMatchObject({ id: old.id, data: { successor_id: next.id } });
    const before = await usedBy(project, next.id);
    expect((await call(server, 'DELETE', `${paths.projectKeys(project)}/${old.id}`)).status).toBe(200);
    expect(new Set(await times(5, [old.value]))).toEqual(new Set(['401 api_key_revoked']));
    expect(await usedBy(project, next.id)).toBeLessThanOrEqual(before);
    expect((await limitsOf(project, next.id)).shared_with).toEqual([]);
  });
});

describe('rotations beside a server', () => {
  beforeAll(async () => {
    await server.stop();
    server = await startServer({ dataDir: server.dataDir });
  });

  test('without a grace the key is refused as soon as its successor is there; with one when that is over', async () => {
    const project = await createProject(server, 'ending');
    const one = await createKey(server, project);
    const two = successorOf(await rotate(project, one.id, 0));
    expect([await use(server, one.value), await use(server, two.value)]).toEqual(['401 api_key_expired', '200']);
    const three = successorOf(await rotate(project, two.id, 2));
    await eventually(async () => ((await use(server, two.value)) === '401 api_key_expired' ? true : undefined));
    expect(await use(server, three.value)).toBe('200');
  });

  test('many rotations of one key at once, beside commands at the machine, leave one successor', async () => {
    const project = await createProject(server, 'racing');
    const key = await createKey(server, project);
    const here = () => weirHere(['key', 'rotate', key.id, '--grace', '1h', '--jsonl'], { DATA_DIR: server.dataDir });
    const [answers, commands] = await Promise.all([
      Promise.all(Array.from({ length: 6 }, () => rotate(project, key.id, 3600))),
      Promise.all([here(), here()]),
    ]);
    const values = [
      ...answers.flatMap(({ status, body }) => (status === 201 ? [String(body.value)] : [])),
      ...commands.flatMap(({ code, stdout }) => (code === 0 ? [String(JSON.parse(stdout).value)] : [])),
    ];
    expect(values).toHaveLength(1);
    for (const { status, text } of answers)
      if (status !== 201) expect([status, text]).toEqual([409, expect.stringContaining('api_key_rotated')]);
    for (const { code, stderr } of commands)
      if (code !== 0) expect(stderr).toMatch(/^(The API key has a successor already|Others changed the same)/);
    await eventually(async () => ((await use(server, values[0]!)) === '200' ? true : undefined));
    expect(await use(server, key.value)).toBe('200');
    // Those that came too late are revoked a moment later.
    await vi.waitFor(
      async () => {
        const { body } = await call(server, 'GET', `${paths.projectKeys(project)}?status=active&limit=100`);
        expect(body.data as Json[]).toHaveLength(2);
      },
      { timeout: 20_000, interval: 100 },
    );
  });
});
