// Lane: rest: an event store of several nodes, or of others
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RemoteStore, startRemoteStore } from '../support/tls-store.ts';
import { unlessGone } from '../support/unless-gone.ts';
import {
  allLists,
  archive,
  askForKey,
  call,
  createKey,
  createProject,
  dataOf,
  errorOf,
  itemsOf,
  paths,
  use,
} from './calls.ts';
import { weirHere } from './here.ts';
import { Ledger } from './ledger.ts';
import type { Environment } from './process.ts';
import { eventually, freshDir, type Server, startServer } from './server.ts';

// Several starts, on a machine that may be busy with other things.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let store: RemoteStore;
beforeAll(async () => {
  store = await startRemoteStore();
});

/** The open connections of a process to a port of this machine. */
const connectionsOf = (pid: number, port: number): number => {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const fields = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const rows = fields.map((line) => line.trim().split(/\s+/)).filter(([, , remote]) => remote?.endsWith(wanted));
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`)));
  return rows.filter(([, , , , , , , , , inode]) => files.includes(`socket:[${inode}]`)).length;
};

const question = { model: 'weir-sim-1', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };

describe('the whole of Weir on an event store of its own process, over TLS with a user', () => {
  let server: Server;
  const again = async (): Promise<void> => {
    server = await startServer({ dataDir: server.dataDir, env: { EVENTSTORE_URL: store.url } });
  };
  beforeAll(async () => {
    server = await startServer({ env: { EVENTSTORE_URL: store.url } });
  });
  afterAll(() => server?.stop());

  test('starts for the first time, with everything in that store and nothing beside it', async () => {
    await eventually(() => server.spawned.stdout().includes('first-run.json') || undefined);
    expect(existsSync(join(server.dataDir, 'eventstore'))).toBe(false);
    expect(await use(server, server.first.project_api_key)).toBe('200');
    expect((await call(server, 'GET', '/v1/ready', { key: null })).status).toBe(200);
    const history = await weirHere(['audit', 'history', server.first.project_id, '--jsonl'], server.env);
    expect(JSON.parse(history.stdout.split('\n')[0]!)).toMatchObject({ type: 'project.created', revision: 0 });
    expect(server.log().filter(({ level }) => level > 30)).toEqual([]);
  });

  test('has its audit log verified there, and a store that is away is said to be no damage', async () => {
    const verify = async (env: Environment) => {
      const { code, stdout, stderr } = await weirHere(['audit', 'verify', '--jsonl'], env);
      return { code, stderr, ...(JSON.parse(stdout) as { readonly covered: number; readonly uncovered: number }) };
    };
    // Without a checkpoint from elsewhere it cannot be excluded that something was taken back.
    const report = await eventually(async () => {
      const found = await verify(server.env);
      return found.uncovered === 0 ? found : undefined;
    });
    expect(report).toMatchObject({ code: 2, verdict: 'open', findings: [], outside: null });
    expect(report.covered).toBeGreaterThan(5);
    const sink = join(freshDir('sink'), 'checkpoint');
    mkdirSync(dirname(sink));
    writeFileSync(sink, (await weirHere(['audit', 'checkpoint'], server.env)).stdout);
    expect(await verify({ ...server.env, AUDIT_SINKS: sink })).toMatchObject({ code: 0, verdict: 'whole' });

    const away = await verify({ ...server.env, EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false' });
    expect(away).toMatchObject({ code: 3, verdict: 'unreadable' });
    expect(away.stderr).toMatch(/^The log cannot be verified\. [^\n]+\n$/);
    expect(away.stderr).not.toContain('damaged');
  });

  // Two clients in one thread lose each other's appends.
  test.skipIf(process.platform !== 'linux')('has one connection to it, whatever is under way', async () => {
    const work = Promise.all([
      ...Array.from({ length: 20 }, () => createKey(server, server.first.project_id)),
      ...Array.from({ length: 20 }, () => call(server, 'GET', '/v1/ready', { key: null })),
    ]);
    const connections = () => connectionsOf(server.spawned.child.pid!, store.port);
    expect(connections()).toBe(1);
    await work;
    expect(connections()).toBe(1);
  });

  test('serves the official SDKs', async () => {
    const { project_api_key, admin_api_key, project_id } = server.first;
    const inference = new Anthropic({ baseURL: server.baseUrl, apiKey: project_api_key, maxRetries: 0 });
    expect((await inference.messages.create(question)).content[0]).toMatchObject({ type: 'text' });
    const options = { baseURL: `${server.baseUrl}/v1`, apiKey: null as unknown as string, adminAPIKey: admin_api_key };
    const { data } = await new OpenAI(options).admin.organization.projects.list();
    expect(data.map(({ id }) => id)).toContain(project_id);
  });

  test('archives a project with its keys, and what is left is the same after a restart and after kill -9', async () => {
    const gone = await createProject(server, 'gone');
    const [dead, alive] = [await createKey(server, gone), await createKey(server, server.first.project_id)];
    expect(await use(server, dead.value)).toBe('200');
    expect((await archive(server, gone)).status).toBe(200);
    expect(await use(server, dead.value)).toBe('401 api_key_revoked');
    const lists = await allLists(server);
    for (const end of [() => server.stop(), () => server.kill()]) {
      await end();
      await again();
      expect(await allLists(server)).toBe(lists);
      expect(await use(server, dead.value)).toBe('401 api_key_revoked');
      expect(await use(server, alive.value)).toBe('200');
      expect(server.log().filter(({ msg }) => msg === 'projection.rebuilt')).toEqual([]);
    }
  });

  test('outlives the death of the store: known keys work, lists are served, commands are refused until it is back', async () => {
    const { project_id, project_api_key } = server.first;
    const ledger = new Ledger('outage');
    const writing = ledger.write(server, [project_id], 4);
    await ledger.reached(20);
    const before = await itemsOf(server, paths.projects);
    await store.kill();

    // From then on it is an outage for those who come.
    await eventually(() => server.log().find(({ msg }) => msg === 'store.lost'));
    const [created, archived, keyed] = await Promise.all([
      call(server, 'POST', paths.projects, { body: { name: 'refused' } }),
      archive(server, project_id),
      askForKey(server, project_id),
    ]);
    for (const answer of [created, archived, keyed]) {
      expect(`${answer.status} ${errorOf(answer.body).code}`).toBe('503 dependency_unavailable');
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect(await use(server, project_api_key)).toBe('200');
    const inference = new Anthropic({ baseURL: server.baseUrl, apiKey: project_api_key, maxRetries: 0 });
    expect((await inference.messages.create(question)).stop_reason).not.toBeNull();
    expect(await itemsOf(server, paths.projects)).toEqual(before);
    expect((await call(server, 'GET', '/v1/ready', { key: null })).status).toBe(503);
    const credits = async (): Promise<string> => {
      // A key may ask sixty times a minute.
      await wait(500);
      const { status, body, headers } = await call(server, 'GET', '/v1/credits', { key: project_api_key });
      return status === 200 ? '200' : `${status} ${errorOf(body).code} ${headers.get('retry-after')}`;
    };
    await eventually(async () => (await credits()) === '503 credit_balance_unavailable 1' || undefined);

    await store.startAgain();
    // By itself: nobody has to touch the gateway.
    await eventually(async () => (await call(server, 'GET', '/v1/ready', { key: null })).status === 200 || undefined);
    await eventually(async () => (await credits()) === '200' || undefined);
    const late = await createProject(server, 'after the outage');
    await eventually(async () => {
      const listed = dataOf(await call(server, 'GET', `${paths.projects}?limit=100`));
      return listed.some(({ id }) => id === late) || undefined;
    });
    const { value } = await createKey(server, late);
    expect(await use(server, value)).toBe('200');

    await server.kill();
    await writing;
    await again();
    expect(await ledger.faults(server)).toEqual([]);
    expect(await use(server, value)).toBe('200');
    const names = (await itemsOf(server, paths.projects)).map(({ name }) => name);
    expect(names).toContain('after the outage');
  });
});

describe('a gateway whose store does not let it in says why, in one sentence, and ends', () => {
  const refused: readonly (readonly [string, () => string, RegExp, number])[] = [
    ['a wrong password', () => store.urlWith({ credentials: 'svc:wrong@' }), /refuses the user or password/, 1],
    [
      'no user at all',
      () => store.urlWith({ credentials: '' }),
      /denies this user the right to read streams: .* no user in EVENTSTORE_URL/,
      1,
    ],
    ['no authority for the certificate', () => store.urlWith({ query: 'tls=true' }), /not trusted: .* tlsCAFile/, 1],
    [
      'an authority that is not there',
      () => store.urlWith({ query: 'tlsCAFile=/nowhere/ca.crt' }),
      /\/nowhere\/ca\.crt/,
      // What is wrong with the connection string itself is a fault of the configuration.
      78,
    ],
    ['plain text to a TLS port', () => store.urlWith({ query: 'tls=false' }), /perhaps it wants TLS/, 1],
  ];

  test.each(refused)('%s', async (_, url, sentence, expected) => {
    const { code, stdout, stderr } = await weirHere(['serve'], {
      PORT: '0',
      DATA_DIR: freshDir(),
      LOG_LEVEL: 'silent',
      EVENTSTORE_URL: url(),
    });
    expect(code).toBe(expected);
    expect(stdout).toBe('');
    expect(stderr).toMatch(sentence);
    expect(stderr).toMatch(/^[A-Z][^\n]*\.\n$/);
    expect(stderr).not.toMatch(/p%40ss|wrong/);
  });
});
