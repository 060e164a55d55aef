import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FillOrder, StoreOrder, StoreSample } from '../../../bench/gen/store-load.ts';
import { type Child, startChild } from '../../../bench/machine/child.ts';
import { type Archive, openArchive } from '../../../src/eventstoredb/archive.ts';

const eventBytes = 268;
const dir = mkdtempSync(join(tmpdir(), 'weir-store-load-'));
let store: Child;
let load: Child;
let archive: Archive;
let endpoint: string;

beforeAll(async () => {
  store = await startChild('The store', new URL('../../../bench/peers/embedded-store.ts', import.meta.url), null);
  load = await startChild('The load', new URL('../../../bench/gen/store-load.ts', import.meta.url), null);
  ({ endpoint } = await store.ask<{ endpoint: string }>({ dir }));
  archive = openArchive({ endpoint });
});

afterAll(async () => {
  await archive.close();
  await load.end();
  await store.end();
  rmSync(dir, { recursive: true });
});

const written = async () => {
  const events = [];
  for await (const event of archive.readAll()) if (event.type === 'bench.appended') events.push(event);
  return events;
};

test('filling makes as many events as were asked for, each on a stream of its own', async () => {
  await load.ask({ endpoint, fill: 2_500, eventBytes } satisfies FillOrder);
  const events = await written();
  expect(events).toHaveLength(2_500);
  expect(new Set(events.map(({ stream }) => stream)).size).toBe(2_500);
  for (const { data } of events) expect(data).toHaveLength(eventBytes);
});

const measured = async (work: StoreOrder['work']): Promise<StoreSample> =>
  load.ask({ endpoint, work, eventBytes, pid: store.pid, rampMs: 100, seconds: 0.4 } satisfies StoreOrder);

test('appends are counted and timed, alone and until a subscriber has each', async () => {
  const before = (await written()).length;
  const alone = await measured({ is: 'append', inFlight: 1, perAppend: 1 });
  const live = await measured({ is: 'live' });
  expect(alone.done).toBeGreaterThan(0);
  expect(alone.p50).toBeGreaterThan(0);
  expect(live.done).toBeGreaterThan(0);
  expect(live.p50).toBeGreaterThan(0);
  // The ramp's are there as well.
  expect((await written()).length).toBeGreaterThanOrEqual(before + alone.done + live.done);
});

test('what is read and caught up is counted by events', async () => {
  const all = (await written()).length;
  for (const is of ['read', 'catch-up'] as const) expect((await measured({ is })).done).toBeGreaterThan(all / 10);
});
