// Lane: rest: gateways that are started at once
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Running, serve } from '../../src/app/serve.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { logIdOf } from '../../src/kernel/store/log-id.ts';
import { type EventStore, type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { onSignal, type SignalName, type Signals } from '../../src/telemetry.ts';
import { weirHere } from './here.ts';
import { eventually, freshDir } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const secret = (): string => randomBytes(32).toString('hex');
const shared = { PEPPER: secret(), MASTER_KEY: secret() };

let embedded: Embedded;
let store: EventStore;
const running = new Set<Running>();

beforeEach(async () => {
  embedded = await startEmbedded({ dir: freshDir('events'), port: 0, inThread: true });
  store = connect({ endpoint: embedded.endpoint });
});
afterEach(async () => {
  await Promise.all([...running].map(stop));
  await store.close();
  await embedded.close();
});

const stop = async (gateway: Running): Promise<void> => {
  running.delete(gateway);
  await gateway.stop(false);
};

const environment = (more: Record<string, string> = {}) => ({
  HOST: '127.0.0.1',
  PORT: '0',
  DATA_DIR: freshDir(),
  EVENTSTORE_URL: `esdb://${embedded.endpoint}?tls=false`,
  LOG_LEVEL: 'silent',
  ...more,
});

/** On a machine that is busy with other things a store may seem to be away for a moment: then once more. */
const unlessAway = <T>(work: () => Promise<T>): Promise<T> =>
  eventually(async () => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined;
      throw error;
    }
  });

/** A gateway in this process, with a data folder and connections of its own. */
const start = async (env: Record<string, string>): Promise<Running> => {
  const by: Context = { actor: { type: 'operator', id: 'jo' } };
  const gateway = await unlessAway(() => serve(readConfig(env), env, by, { access: undefined, dropped: 0 }));
  running.add(gateway);
  return gateway;
};

const events = (): Promise<Recorded[]> =>
  unlessAway(async () => {
    const found: Recorded[] = [];
    for await (const event of store.readAll({ from: 'start', direction: 'forwards', limit: 1000 })) found.push(event);
    return found;
  });
const ofType = async (type: string): Promise<Recorded[]> => (await events()).filter((event) => event.type === type);

/** What was signalled while it is listened. */
const heard = <N extends SignalName>(name: N): Signals[N][] => {
  const signals: Signals[N][] = [];
  endings.push(onSignal((said, signal) => void (said === (name as SignalName) && signals.push(signal as Signals[N]))));
  return signals;
};
const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

const ready = async ({ baseUrl }: Running): Promise<number> => (await fetch(`${baseUrl}/v1/ready`)).status;
const lists = async ({ baseUrl }: Running, key: string): Promise<number> =>
  (await fetch(`${baseUrl}/v1/organization/projects`, { headers: { authorization: `Bearer ${key}` } })).status;

/** On so many empty stores gateways are started at once: two of them, on some stores three. */
const stores = Number(process.env.FIRST_RUNS ?? 10);

describe('gateways that are started at once on an empty store', () => {
  test.each(Array.from({ length: stores }, (_, i) => (i % 10 < 7 ? 2 : 3)))(
    'make one organization: %i of them',
    async (count) => {
      const left = heard('first_run.left');
      const environments = Array.from({ length: count }, () => environment(shared));
      const gateways = await Promise.all(environments.map(start));
      expect(await ofType('organization.created')).toHaveLength(1);
      const told = gateways.flatMap(({ firstRun }) => firstRun ?? []);
      expect(told).toHaveLength(1);
      const knows = async (each: Running) => (await lists(each, told[0]!.admin_api_key)) === 200 || undefined;
      await Promise.all(gateways.map((each) => eventually(() => knows(each))));
      expect(await Promise.all(gateways.map(ready))).toEqual(gateways.map(() => 200));
      // Whoever lost says to whom, unless it came when all was made; and keeps nothing of its own plan.
      for (const { to } of left) expect(to).toMatch(new RegExp(`^process ${process.pid} on \\S+$`));
      const plans = environments.flatMap(({ DATA_DIR }) =>
        readdirSync(DATA_DIR).filter((name) => name.startsWith('first-run.json')),
      );
      expect(plans).toEqual(['first-run.json']);
    },
  );
});

describe('an organization that an operator makes on an empty store', () => {
  const make = async (env: Record<string, string>): Promise<string> => {
    const { code, stdout, stderr } = await weirHere(['org', 'create', '--name', 'Acme', '--jsonl'], env);
    expect([code, stderr]).toEqual([0, '']);
    return (JSON.parse(stdout) as { organization_id: string }).organization_id;
  };

  test('is its first run', async () => {
    const id = await make(environment(shared));
    expect((await ofType('log.first_run_claimed')).map(({ data }) => data.organization_id)).toEqual([id]);
    const gateway = await start(environment(shared));
    expect(gateway.firstRun).toBeNull();
    expect(await ofType('organization.created')).toHaveLength(1);
    // The next one is made all the same, and is nobody's first run.
    await make(environment(shared));
    expect(await ofType('organization.created')).toHaveLength(2);
    expect(await ofType('log.first_run_claimed')).toHaveLength(1);
  });

  test.each(Array.from({ length: 8 }, (_, i) => i % 2 === 0))(
    'beside a gateway that starts is whole, and the only one unless the gateway came first; one data folder: %s',
    async (isShared) => {
      const env = environment(shared);
      const [gateway, id] = await Promise.all([start(env), make(isShared ? { ...env } : environment(shared))]);
      const [claim] = await ofType('log.first_run_claimed');
      const first = gateway.firstRun?.organization_id;
      expect([id, first]).toContain(claim?.data.organization_id);
      const made = (await ofType('organization.created')).map(({ stream }) => stream.slice('organization-'.length));
      expect(made.sort()).toEqual((first === undefined ? [id] : [id, first]).sort());
      if (claim?.data.organization_id === id) expect(first).toBeUndefined();
      // Each with its Admin key.
      expect(await ofType('admin_key.created')).toHaveLength(made.length);
      expect(await ready(gateway)).toBe(200);
    },
  );
});

describe('a key that one of two gateways has rotated', () => {
  const use = async ({ baseUrl }: Running, key: string): Promise<[number, string | null]> => {
    const answer = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    return [answer.status, answer.headers.get('x-ratelimit-remaining-requests')];
  };
  const rotate = async ({ baseUrl, firstRun }: Running, by: Running, grace: number) => {
    const { admin_api_key: key, project_id: project, project_api_key_id: id } = (firstRun ?? by.firstRun)!;
    const answer = await fetch(`${baseUrl}/v1/organization/projects/${project}/api_keys/${id}/rotate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': secret() },
      body: JSON.stringify({ grace_seconds: grace }),
    });
    return { status: answer.status, value: ((await answer.json()) as { value: string }).value };
  };

  test('works at both with its successor, and each counts the two together by itself', async () => {
    const [one, other] = [await start(environment(shared)), await start(environment(shared))];
    const old = one.firstRun!.project_api_key;
    await eventually(async () => (await use(other, old))[0] === 200 || undefined);
    const { status, value } = await rotate(one, one, 3600);
    expect(status).toBe(201);
    await eventually(async () => (await use(other, value))[0] === 200 || undefined);
    const left = async (gateway: Running, key: string): Promise<number> => Number((await use(gateway, key))[1]);
    for (const gateway of [one, other]) {
      const before = await left(gateway, old);
      expect(await left(gateway, value)).toBe(before - 1);
      expect(await left(gateway, old)).toBe(before - 2);
    }
    // A second rotation of the same key, at the other gateway, finds the first one.
    expect((await rotate(other, one, 0)).status).toBe(409);
  });
  test('without a grace ends at the other too, when the event reaches it', async () => {
    const [one, other] = [await start(environment(shared)), await start(environment(shared))];
    const old = one.firstRun!.project_api_key;
    const { value } = await rotate(one, one, 0);
    expect((await use(one, old))[0]).toBe(401);
    await eventually(async () => (await use(other, value))[0] === 200 || undefined);
    await eventually(async () => (await use(other, old))[0] === 401 || undefined);
  });
});

test('an alias of a project that one of two gateways has set holds there at once, and at the other when the event reaches it', async () => {
  const [one, other] = [await start(environment(shared)), await start(environment(shared))];
  const { admin_api_key: admin, project_id: project, project_api_key: key } = one.firstRun!;
  const parentOf = async ({ baseUrl }: Running): Promise<string | undefined> => {
    const answer = await fetch(`${baseUrl}/v1/models/mine`, { headers: { authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { parent?: string }).parent;
  };
  const set = (model: string) =>
    fetch(`${one.baseUrl}/v1/organization/projects/${project}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model_aliases: { mine: model } }),
    });
  for (const model of ['weir-sim-1', 'weir-sim-thinking-1']) {
    expect((await set(model)).status).toBe(200);
    expect(await parentOf(one)).toBe(model);
    await eventually(async () => (await parentOf(other)) === model || undefined);
  }
});

test('a model that one of two gateways has denied a project is refused there at once, and at the other when the event reaches it', async () => {
  const [one, other] = [await start(environment(shared)), await start(environment(shared))];
  const { admin_api_key: admin, project_id: project, project_api_key: key } = one.firstRun!;
  const statusAt = async ({ baseUrl }: Running): Promise<number> =>
    (await fetch(`${baseUrl}/v1/models/weir-sim-1`, { headers: { authorization: `Bearer ${key}` } })).status;
  const permit = (method: string, body?: object) =>
    fetch(`${one.baseUrl}/v1/organization/projects/${project}/model_permissions`, {
      method,
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  expect((await permit('POST', { mode: 'deny_list', model_ids: ['weir-sim-1'] })).status).toBe(200);
  expect(await statusAt(one)).toBe(404);
  await eventually(async () => (await statusAt(other)) === 404 || undefined);
  expect((await permit('DELETE')).status).toBe(200);
  expect(await statusAt(one)).toBe(200);
  await eventually(async () => (await statusAt(other)) === 200 || undefined);
});

test('limits that one of two gateways has set hold there at once, and at the other within a second', async () => {
  const [one, other] = [await start(environment(shared)), await start(environment(shared))];
  const { admin_api_key: admin, project_id: project, project_api_key: key, project_api_key_id: id } = one.firstRun!;
  const limitAt = async ({ baseUrl }: Running, model: string): Promise<string | null> => {
    const answer = await fetch(`${baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }),
    });
    return answer.headers.get('x-ratelimit-limit-requests');
  };
  const set = (path: string, body: object) =>
    fetch(`${one.baseUrl}/v1/organization/projects/${project}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const [model, free] = ['weir-sim-1', 'weir-sim-thinking-1'];
  // Both have records of the key and the project already.
  await eventually(async () => (await limitAt(other, model)) !== null || undefined);
  await limitAt(one, model);
  // Each is the tightest, and of equal ones the inner is told.
  const changes = [
    ['rate_limits/rl-weir-sim-1', { max_requests_per_1_minute: 3 }, model, '3'],
    ['rate_limits/rl-*', { max_requests_per_1_minute: 31 }, free, '31'],
    [`api_keys/${id}`, { limits: { requests_per_minute: 17 } }, free, '17'],
  ] as const;
  for (const [path, body, asked, limit] of changes) {
    expect((await set(path, body)).status).toBe(200);
    const from = performance.now();
    expect(await limitAt(one, asked)).toBe(limit);
    await eventually(async () => (await limitAt(other, asked)) === limit || undefined);
    // On an idle machine within a second; this one may be busy with other things.
    expect(performance.now() - from).toBeLessThan(10_000);
  }
});

describe('a key that one of two gateways has made', () => {
  const create = async ({ baseUrl }: Running, key: string, projectId: string): Promise<[number, string]> => {
    const answer = await fetch(`${baseUrl}/v1/organization/projects/${projectId}/api_keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': 'one-and-the-same',
      },
      body: '{"name":"once"}',
    });
    return [answer.status, await answer.text()];
  };
  const made = async (environments: readonly Record<string, string>[]): Promise<[number, string][]> => {
    const [one, other] = [await start(environments[0]!), await start(environments[1]!)];
    const { admin_api_key: key, project_id: project } = one.firstRun!;
    const first = await create(one, key, project);
    await eventually(async () => (await lists(other, key)) === 200 || undefined);
    const answers = [first, await create(other, key, project), await create(one, key, project)];
    expect(await ofType('project_key.created')).toHaveLength(2);
    return answers;
  };

  test('is repeated by the other where they share the keys of the days', async () => {
    const SECRETS_DIR = freshDir('secrets');
    const [first, ...again] = await made([
      environment({ ...shared, SECRETS_DIR }),
      environment({ ...shared, SECRETS_DIR }),
    ]);
    expect(first![0]).toBe(201);
    expect(again).toEqual([first, first]);
  });

  test('is repeated by the one alone where they do not, and never made again', async () => {
    const [first, elsewhere, again] = await made([environment(shared), environment(shared)]);
    expect(first![0]).toBe(201);
    expect(again).toEqual(first);
    expect(elsewhere![0]).toBe(409);
    expect(elsewhere![1]).toMatch(/"idempotency_result_unavailable".*not at this gateway/);
  });
});

describe('a gateway whose secrets are not those of the log', () => {
  const refused = async (env: Record<string, string>): Promise<string> => {
    const before = await events();
    const { code, stderr } = await weirHere(['serve'], environment(env));
    expect(code).toBe(78);
    expect(await events()).toEqual(before);
    for (const value of Object.values(env)) expect(stderr).not.toContain(value);
    return stderr;
  };

  test('does not start, and says which of them is another', async () => {
    await stop(await start(environment(shared)));
    expect(await refused({ ...shared, PEPPER: secret() })).toMatch(/^The configuration[^\n]+\n {2}PEPPER: [^\n]+\n$/);
    expect(await refused({ ...shared, MASTER_KEY: secret() })).toMatch(
      /^The configuration[^\n]+\n {2}MASTER_KEY: [^\n]+\n$/,
    );
    const both = await refused({ PEPPER: secret(), MASTER_KEY: secret() });
    expect(both).toMatch(/PEPPER: [^\n]+\n {2}MASTER_KEY: /);
    await stop(await start(environment(shared)));
  });

  test('is one of two that were started at once', async () => {
    const starts = await Promise.allSettled(
      [shared, { PEPPER: secret(), MASTER_KEY: secret() }].map((secrets) => start(environment(secrets))),
    );
    expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await ofType('organization.created')).toHaveLength(1);
    expect(await ofType('log.secrets_known')).toHaveLength(1);
  });

  test('starts where the previous pepper is known, and those without the new one do so no more', async () => {
    await stop(await start(environment(shared)));
    const next = { ...shared, PEPPER: secret() };
    // As src/cli/README.md says: all accept the new one first.
    await stop(await start(environment({ ...shared, PREVIOUS_PEPPER: next.PEPPER })));
    expect(await ofType('log.secrets_known')).toHaveLength(1);
    await stop(await start(environment({ ...next, PREVIOUS_PEPPER: shared.PEPPER })));
    expect(await ofType('log.secrets_known')).toHaveLength(2);
    expect(await refused(shared)).toMatch(/PEPPER: /);
    await stop(await start(environment(next)));
    expect(await ofType('log.secrets_known')).toHaveLength(2);
  });
});

describe('a start that is refused leaves nothing in the log', () => {
  const inTheWay = (name: string, text = 'x'): string => {
    const dir = freshDir(name);
    mkdirSync(dir);
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const taken = async (): Promise<{ port: string; free: () => void }> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    return { port: String(port), free: () => void server.close() };
  };
  test.each([
    ['a folder of secrets that cannot be one', () => ({ SECRETS_DIR: join(inTheWay('file'), 'below') })],
    ['one that cannot keep its day keys', () => ({ ...shared, SECRETS_DIR: join(inTheWay('file'), 'below') })],
    ['damaged secrets', () => ({ SECRETS_DIR: join(inTheWay('secrets.json'), '..') })],
    ['a damaged plan', () => ({ DATA_DIR: join(inTheWay('first-run.json'), '..') })],
    ['no models file', () => ({ MODELS_FILE: join(freshDir(), 'none') })],
    ['a tiers file that is none', () => ({ TIERS_FILE: inTheWay('tiers') })],
  ])('for %s', async (_, env) => {
    expect((await weirHere(['serve'], environment(env()))).code).toBeGreaterThan(0);
    expect(await events()).toEqual([]);
  });

  test('for a port that is taken', async () => {
    const { port, free } = await taken();
    const { code, stderr } = await weirHere(['serve'], environment({ PORT: port }));
    expect(code).toBe(1);
    expect(stderr).toContain(`Cannot listen on HOST 127.0.0.1 PORT ${port}`);
    expect(await events()).toEqual([]);
    free();
  });

  test('so that the next one may make its secrets', async () => {
    const env = environment();
    const file = inTheWay('file');
    const refused = { ...env, ...shared, SECRETS_DIR: join(file, 'below') };
    expect((await weirHere(['serve'], refused)).code).toBe(78);
    await stop(await start(env));
    const { project_api_key: key } = JSON.parse(readFileSync(join(env.DATA_DIR, 'first-run.json'), 'utf8'));
    expect(key).toMatch(/^gwp_/);
  });
});

describe('an operator’s command with secrets that are not those of the log', () => {
  const made = async (env: Record<string, string>): Promise<string> => {
    const { stdout, stderr, code } = await weirHere(['org', 'create', '--name', 'Acme', '--jsonl'], env);
    expect(`${code} ${stderr}`).toBe('0 ');
    return (JSON.parse(stdout) as { organization_id: string }).organization_id;
  };

  test('makes no keys, and looks all the same', async () => {
    const id = await made(environment(shared));
    const others = environment({ PEPPER: secret(), MASTER_KEY: secret() });
    const before = await events();
    const makers = [
      ['org', 'create', '--name', 'x'],
      ['admin-key', 'bootstrap', id, '--yes'],
      ['oauth-client', 'create', id, '--name', 'x'],
    ];
    for (const argv of makers) {
      const { code, stderr } = await weirHere(argv, others);
      expect([code, stderr]).toEqual([78, expect.stringMatching(/PEPPER: .*\n {2}MASTER_KEY: /)]);
    }
    expect((await weirHere(['org', 'list', '--json'], others)).stdout).toContain(id);
    expect(await events()).toEqual(before);
  });

  test('declares them the right ones where the others are lost', async () => {
    await made(environment(shared));
    const others = environment({ PEPPER: secret(), MASTER_KEY: secret() });
    expect((await weirHere(['secrets', 'accept'], others)).stderr).toContain('--yes');
    expect(await ofType('log.secrets_known')).toHaveLength(1);
    expect((await weirHere(['secrets', 'accept', '--yes'], others)).code).toBe(0);
    await stop(await start(others));
    expect((await weirHere(['serve'], environment(shared))).code).toBe(78);
  });
});

test('a log without fingerprints takes those of the first start, which says so', async () => {
  const accepted = heard('secrets.accepted');
  await logIdOf(store, systemClock);
  await stop(await start(environment(shared)));
  expect(accepted).toHaveLength(1);
  expect((await weirHere(['serve'], environment({ ...shared, PEPPER: secret() }))).code).toBe(78);
  await stop(await start(environment(shared)));
  expect(accepted).toHaveLength(1);
});
