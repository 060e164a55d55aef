// Lane: rest: an event store whose rights change
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Right } from '../../src/eventstoredb/client/rights.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { type Cluster, clusterOf, type Refused } from '../support/cluster.ts';
import { collect } from '../support/events.ts';
import { type StoreProcess, storeProcess } from '../support/store-process.ts';
import { askForKey, call, createKey, errorOf } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, freshDir, runWeir, type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let node: StoreProcess;
let cluster: Cluster;
const servers: Server[] = [];

beforeEach(async () => {
  const dir = freshDir('events');
  mkdirSync(dir);
  node = await storeProcess(dir);
  cluster = await clusterOf(node.endpoint);
});
afterEach(async () => {
  for (const server of servers.splice(0)) await server.kill();
  await cluster.close();
  await node.kill();
});

const refuse = (why: Refused | undefined): void => {
  for (const member of cluster.members) member.refuseUsers(why);
};
const at = (dataDir: string) => ({ DATA_DIR: dataDir, EVENTSTORE_URL: cluster.url });
const started = async (dataDir?: string): Promise<Server> => {
  const server = await startServer({ ...(dataDir !== undefined && { dataDir }), env: { EVENTSTORE_URL: cluster.url } });
  servers.push(server);
  return server;
};
const denies = (right: Right): string => `The event store denies this user the right to ${right}`;

test('a start on an empty store that lacks a right says which, and leaves nothing behind for the next one', async () => {
  for (const right of ['read $all', 'append to streams', 'write the metadata of streams', 'delete streams'] as const) {
    refuse(right);
    const dataDir = freshDir();
    const refused = await runWeir(['serve'], { PORT: '0', ...at(dataDir) });
    expect(`${refused.code} ${refused.stderr}`).toMatch(/^1 /);
    expect(refused.stderr).toContain(`${denies(right)}: an ACL, or no user in EVENTSTORE_URL.`);
    expect(existsSync(`${dataDir}.secrets`)).toBe(false);
  }
  refuse('append to streams');
  const created = await weirHere(['org', 'create', '--name', 'New'], at(freshDir()));
  expect(`${created.code} ${created.stderr}`).toMatch(new RegExp(`^1 .*${denies('append to streams')}`));
  refuse(undefined);
  const store = connect({ url: cluster.url });
  const all = { from: 'start', direction: 'forwards', limit: 99, withOwn: true } as const;
  expect(await collect(store.readAll(all))).toEqual([]);
  await store.close();
  const server = await started();
  expect((await createKey(server, server.first.project_id)).id).toMatch(/^key_/);
});

describe('a user who may read and not append', () => {
  const ready = async (server: Server): Promise<string> => {
    const { status, body } = await call(server, 'GET', '/v1/ready', { key: null });
    return status === 200 ? '200' : `${status} ${errorOf(body).message}`;
  };

  test('is told so by readiness, status, log, and whoever sends a command, from the start on and until it may', async () => {
    const { dataDir, stop } = await started();
    await stop();
    refuse('append to streams');
    const server = await started(dataDir);
    const sentence = denies('append to streams');
    expect(await ready(server)).toContain(`503 Not available: eventstore (${sentence}`);
    const lost = server.log().filter(({ msg }) => msg === 'store.lost');
    expect(lost.map(({ reason }) => String(reason).slice(0, sentence.length))).toEqual([sentence]);
    const asked = await askForKey(server, server.first.project_id);
    expect(asked).toMatchObject({ status: 503, body: { error: { code: 'dependency_unavailable' } } });
    expect(errorOf(asked.body).message).toContain(sentence);
    const project = await call(server, 'GET', `/v1/organization/projects/${server.first.project_id}`);
    expect(project.status).toBe(200);

    const status = await runWeir(['status', '--json'], server.env);
    const lines = JSON.parse(status.stdout) as { part: string; state: string; detail: string }[];
    expect(lines.find(({ part }) => part === 'gateway')?.detail).toContain(sentence);
    expect(lines.find(({ part }) => part === 'store')).toMatchObject({ state: 'read only' });
    expect(lines.find(({ part }) => part === 'store')?.detail).toContain(sentence);
    expect(status.code).toBe(1);
    const created = await runWeir(['org', 'create', '--name', 'New'], server.env);
    expect(`${created.code} ${created.stderr}`).toMatch(new RegExp(`^1 .*${sentence}`));

    refuse(undefined);
    await eventually(async () => (await ready(server)) === '200' || undefined);
    expect((await createKey(server, server.first.project_id)).id).toMatch(/^key_/);
  });
});

test('a wrong password ends a command long before a start would give up to wait for a new database', async () => {
  const { dataDir, stop } = await started();
  await stop();
  refuse('password');
  for (const args of [
    ['org', 'list'],
    ['store', 'export', '--out', join(dataDir, 'export.ndjson')],
  ]) {
    const began = performance.now();
    const { code, stderr } = await weirHere(args, at(dataDir));
    expect(`${code} ${stderr}`).toBe('1 The event store refuses the user or password.\n');
    expect(performance.now() - began).toBeLessThan(10_000);
  }
});
