// Lane: rest, alone: a process of an event store for each test
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConnectOptions, usersAreKnown } from '../../src/eventstoredb/client/connect-options.ts';
import { asking, type Right } from '../../src/eventstoredb/client/rights.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { Budget } from '../../src/kernel/store/budget.ts';
import { type EventStore, StoreRefuses } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { type Cluster, clusterOf, type Refused } from '../support/cluster.ts';
import { collect, event } from '../support/events.ts';
import { type StoreProcess, storeProcess } from '../support/store-process.ts';

let dir: string;
let node: StoreProcess;
let cluster: Cluster;
let store: EventStore;
let told: string[];
const endings: (() => unknown)[] = [];

const patience = { timeout: 20_000, interval: 20 };
const refuse = (why: Refused | undefined): void => {
  for (const member of cluster.members) member.refuseUsers(why);
};
const opened = (options: ConnectOptions = {}): EventStore => {
  store = connect({ url: cluster.url }, options);
  endings.push(() => store.close());
  return store;
};

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-rights-'));
  node = await storeProcess(dir);
  cluster = await clusterOf(node.endpoint);
  told = [];
  endings.push(onSignal((name, signal) => told.push(`${name} ${(signal as { reason?: string }).reason ?? ''}`.trim())));
});

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  await cluster.close();
  await node.kill();
  rmSync(dir, { recursive: true, force: true });
});

const denied = (right: Right): string =>
  `The event store denies this user the right to ${right}: an ACL, or no user in EVENTSTORE_URL`;

test.each(Object.keys(asking) as Right[])(
  'the right to %s is asked for, and missed where it is not there',
  async (right) => {
    refuse(right);
    const refused = await opened()
      .proveRights()
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreRefuses);
    expect((refused as Error).message).toBe(`${denied(right)}.`);
  },
);

test('a wrong password ends at once where the users are known, and not with the wait for a new database', async () => {
  refuse('password');
  const began = performance.now();
  await expect(opened(usersAreKnown).proveRights()).rejects.toThrow('The event store refuses the user or password.');
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('asking for the rights writes nothing', async () => {
  await opened().proveRights();
  await expect.poll(() => store.state.is, patience).toBe('there');
  const looks: bigint[] = [];
  store.onHeadPoll(({ end }) => looks.push(end));
  await expect.poll(() => looks.length, patience).toBeGreaterThan(2);
  expect(await collect(store.readAll({ from: 'start', direction: 'forwards', limit: 9, withOwn: true }))).toEqual([]);
  expect(new Set(looks)).toEqual(new Set([0n]));
});

test('a user who may read and not append finds a store that is lost, from the first look on, and why', async () => {
  refuse('append to streams');
  opened();
  await expect.poll(() => store.state.is, patience).not.toBe('unknown');
  expect(store.state).toEqual({ is: 'lost', why: denied('append to streams'), refuses: true });
  expect(told).toEqual([`store.lost ${denied('append to streams')}`]);
  await expect(store.append('a-1', [event(0)], 'no_stream', { budget: new Budget() })).rejects.toEqual(
    new StoreRefuses(`${denied('append to streams')}.`),
  );
  // What is there is read all the same, and the log looked at.
  const looks: bigint[] = [];
  store.onHeadPoll(({ end }) => looks.push(end));
  await expect.poll(() => looks.length, patience).toBeGreaterThan(1);
  expect(await collect(store.read('a-1'))).toEqual([]);
  refuse(undefined);
  await expect.poll(() => store.state.is, patience).toBe('there');
  await store.append('a-1', [event(0)], 'no_stream', { budget: new Budget() });
});

test('the right to append that is taken away is missed without a command, and told once', async () => {
  opened();
  await store.append('a-1', [event(0)], 'no_stream');
  await expect.poll(() => store.state.is, patience).toBe('there');
  refuse('append to streams');
  await expect.poll(() => store.state.is, patience).toBe('lost');
  expect(store.state).toMatchObject({ why: denied('append to streams'), refuses: true });
  refuse(undefined);
  await expect.poll(() => store.state.is, patience).toBe('there');
  expect(told.filter((each) => /^store\.(lost|back)/.test(each))).toEqual([
    `store.lost ${denied('append to streams')}`,
    'store.back',
  ]);
});

test('a client that was refused the call itself, and remembers it, is followed by another', async () => {
  opened();
  await expect.poll(() => store.state.is, patience).toBe('there');
  refuse('rights');
  // On a new connection the client asks anew what the server can do.
  for (const member of cluster.members) {
    member.kill();
    await member.revive();
  }
  await expect(store.append('a-1', [event(0)], 'no_stream')).rejects.toBeInstanceOf(StoreRefuses);
  refuse(undefined);
  const next = event(0);
  const append = () => store.append('a-1', [next], 'no_stream', { budget: new Budget() });
  await expect.poll(() => append().then(() => 'written', String), patience).toBe('written');
}, 60_000);
