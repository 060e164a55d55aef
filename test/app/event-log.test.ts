import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownEventLog, storeDir } from '../../src/app/log/event-log.ts';
import { readConfig } from '../../src/config/config.ts';
import { type Embedded, StoreLocked, startEmbedded } from '../../src/embedded/index.ts';
import { onSignal } from '../../src/telemetry.ts';
import { collect, event } from '../support/events.ts';

let dir: string;
let told: unknown[];
let deafen: () => void;
const endings: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-event-log-'));
  told = [];
  deafen = onSignal((name, signal) => told.push([name, signal]));
});
afterEach(async () => {
  deafen();
  for (const end of endings.splice(0).reverse()) await end();
  rmSync(dir, { recursive: true, force: true });
});

const config = () => readConfig({ DATA_DIR: dir });
const holder = async (): Promise<Embedded> => {
  const held = await startEmbedded({ dir: storeDir(config()), inThread: true });
  endings.push(() => held.close());
  return held;
};
const inUse = () => [['store.in_use', { dir: storeDir(config()), holder: `process ${process.pid}` }]];

describe('the store of a server that another process has', () => {
  test('is taken as soon as that has closed it, and the wait is told once', async () => {
    const held = await holder();
    const opening = ownEventLog(config(), { waitMs: 60_000 });
    await expect.poll(() => told).toEqual(inUse());
    // Some more looks, which say nothing.
    await expect(ownEventLog(config(), { waitMs: 200 })).rejects.toBeInstanceOf(StoreLocked);
    expect(told).toEqual([...inUse(), ...inUse()]);
    await held.close();
    const log = await opening;
    endings.push(() => log.close());
    await log.store.append('a-1', [event(1)], 'no_stream');
    expect(await collect(log.store.read('a-1'))).toHaveLength(1);
  });

  test('is not waited for beyond its time, and stays whose it was', async () => {
    await holder();
    await expect(ownEventLog(config(), { waitMs: 0 })).rejects.toThrow(
      `The event store in ${storeDir(config())} is in use by process ${process.pid}.`,
    );
  });

  test('is no reason to wait where it is free', async () => {
    const log = await ownEventLog(config());
    endings.push(() => log.close());
    expect(told).toEqual([]);
  });
});

test('a folder that cannot be a store is told at once', async () => {
  await expect(ownEventLog(readConfig({ DATA_DIR: '/dev/null' }), { waitMs: 60_000 })).rejects.not.toBeInstanceOf(
    StoreLocked,
  );
  expect(told).toEqual([]);
});
