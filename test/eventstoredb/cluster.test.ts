// Lane: rest, alone: an event store of several nodes
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../src/eventstoredb/connect.ts';
import { Budget } from '../../src/kernel/store/budget.ts';
import { type EventStore, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { type Cluster, clusterOf } from '../support/cluster.ts';
import { collect, event, listen } from '../support/events.ts';
import { type StoreProcess, storeProcess } from '../support/store-process.ts';

let dir: string;
let node: StoreProcess;
let cluster: Cluster;
let store: EventStore;
const endings: (() => unknown)[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-cluster-'));
  node = await storeProcess(dir);
  cluster = await clusterOf(node.endpoint);
  store = connect({ url: cluster.url });
});

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  await store.close();
  await cluster.close();
  await node.kill();
  rmSync(dir, { recursive: true, force: true });
});

const patience = { timeout: 20_000, interval: 20 };
const isThere = () => expect.poll(() => store.state.is, patience).toBe('there');
const isLost = () => expect.poll(() => store.state.is, patience).toBe('lost');

/** Appends one after another, each until it is known to be there. */
const writing = () => {
  let n = 0;
  let ended = false;
  const acknowledged: number[] = [];
  const run = (async () => {
    while (!ended) {
      const next = event(n);
      while (!ended) {
        try {
          await store.append('a-1', [next], n === 0 ? 'no_stream' : n - 1);
          acknowledged.push(n++);
          break;
        } catch (error) {
          expect(error).toBeInstanceOf(StoreUnavailable);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    }
  })();
  return {
    acknowledged,
    more: (count: number) => {
      const wanted = acknowledged.length + count;
      return expect.poll(() => acknowledged.length, patience).toBeGreaterThanOrEqual(wanted);
    },
    async end() {
      ended = true;
      await run;
    },
  };
};

/** All that was acknowledged is there once, in order, for readers and for a subscriber. */
const nothingLost = async (work: ReturnType<typeof writing>, heard: ReturnType<typeof listen>) => {
  await work.more(3);
  await work.end();
  await isThere();
  const stored = (await collect(store.read('a-1'))).map(({ data }) => data.n as number);
  expect(stored).toEqual(stored.map((_, index) => index));
  expect(stored.length).toBeGreaterThanOrEqual(work.acknowledged.length);
  await heard.until(stored.length);
  expect(heard.numbers()).toEqual(stored);
};

const begin = async () => {
  const heard = listen(store);
  endings.push(() => heard.close());
  const work = writing();
  endings.push(() => work.end());
  await work.more(3);
  return { heard, work };
};

describe('a cluster', () => {
  test('of which all nodes die and come back is used again without a restart', async () => {
    const { heard, work } = await begin();
    for (const member of cluster.members) member.kill();
    await isLost();
    await expect(store.append('b-1', [event(0)], 'no_stream', { budget: new Budget() })).rejects.toThrow(/is away/);
    cluster.lead(undefined);
    for (const member of cluster.members) await member.revive();
    // It says "not ready" for so long that discovery is given up, while appends wait for it.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    cluster.lead(1);
    await nothingLost(work, heard);
  }, 60_000);

  test('whose leader dies goes on with the next', async () => {
    const { heard, work } = await begin();
    cluster.members[0]!.kill();
    cluster.lead(1);
    await work.more(3);
    expect(cluster.members[1]!.asked('BatchAppend')).toBeGreaterThan(0);
    await nothingLost(work, heard);
  }, 60_000);

  test('whose leader freezes goes on with the next', async () => {
    const { heard, work } = await begin();
    cluster.members[0]!.freeze();
    cluster.lead(2);
    await work.more(3);
    expect(cluster.members[2]!.asked('BatchAppend')).toBeGreaterThan(0);
    await nothingLost(work, heard);
  }, 60_000);

  test('that elects another leader while the old one lives is followed to it', async () => {
    const { heard, work } = await begin();
    cluster.lead(1);
    await expect.poll(() => cluster.members[1]!.asked('BatchAppend'), patience).toBeGreaterThan(0);
    // The reader moves too: from now on the old leader can stand still, and nobody notices.
    await expect.poll(() => cluster.members[1]!.asked('Read'), patience).toBeGreaterThan(1);
    await work.more(3);
    cluster.members[0]!.freeze();
    cluster.members[2]!.freeze();
    await work.more(3);
    await nothingLost(work, heard);
  }, 60_000);

  test('without a quorum refuses at once what comes, and takes it when there is a leader again', async () => {
    const { heard, work } = await begin();
    cluster.lead(undefined);
    await isLost();
    await expect(store.append('b-1', [event(0)], 'no_stream', { budget: new Budget() })).rejects.toThrow(
      'Server Is Not Ready',
    );
    cluster.lead(2);
    await nothingLost(work, heard);
  }, 60_000);

  test.each(['appends', 'answers to appends'] as const)(
    'that answers and swallows the %s is known to be there, each append has its time, and the next ones another stream',
    async (what) => {
      await store.append('a-1', [event(0)], 'no_stream');
      const next = [event(1)];
      for (const member of cluster.members) member.swallow(what);
      await expect(store.append('a-1', next, 0)).rejects.toBeInstanceOf(StoreUnavailable);
      for (const member of cluster.members) member.swallow(undefined);
      // What it was asked on is swallowed for ever, and the store answers all else on the same connection.
      await expect
        .poll(
          () =>
            store.append('a-1', next, 0).then(
              () => true,
              () => false,
            ),
          patience,
        )
        .toBe(true);
      expect(await collect(store.read('a-1'))).toHaveLength(2);
    },
    60_000,
  );
});
