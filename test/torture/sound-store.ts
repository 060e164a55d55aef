import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { binaryEvent, type EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { runStore } from '../../src/embedded/run-store.ts';
import { seal } from '../../src/embedded/store/commit/seal.ts';
import type { Scene } from './scene.ts';

/** In the data of the events on the plain streams. */
export const MARK = 'marker-'.repeat(6);

const PLAIN = 40;
/** Rounds of appends to them. */
export const ROUNDS = 16;

export const plainStreams = Array.from({ length: PLAIN }, (_, i) => `plain-${i}`);
/** One commit each. */
const LAST = ['late-1', 'plain-0', 'late-1', 'late-2'];
export const streams = [
  ...plainStreams,
  'late-1',
  'late-2',
  'aged-1',
  'soft-1',
  'hard-1',
  'cut-1',
  'large-1',
  'links-1',
  '$$soft-1',
];

const numbered = (i: number) => jsonEvent({ type: 'counted', data: { i } });
const link = (to: string) => binaryEvent({ type: '$>', data: Buffer.from(to) });

/** A store that was closed properly. */
export interface SoundStore {
  readonly sound: Buffer;
  /** What a proper stop has put down beside it. */
  readonly seal: Buffer;
  /** The file as it was: half-way, and before each of the last commits, the newest last. */
  readonly older: readonly Buffer[];
}

/** The data file of a store with everything in it that there can be. */
export async function soundStore(scene: Scene): Promise<SoundStore> {
  const base = scene.dir();
  const dir = join(base, 'sound');
  mkdirSync(dir);
  const file = join(dir, 'events.mdb');
  const older: Buffer[] = [];
  // Behind the clients, whose deadlines are in wall time.
  let clock = Date.now() - 3_600_000;
  for (const half of [0, 1]) {
    const store = await runStore({
      dir,
      listen: { socket: join(base, 's.sock') },
      sweepEveryMs: 20,
      now: () => clock,
      limits: { ballastBytes: 0 },
    });
    const client = scene.connect(store.endpoint);
    await write(client, half);
    clock += 61_000;
    while (await hasAged(client)) await wait(10);
    if (half === 0) older.push(readFileSync(file));
    else {
      for (const name of LAST) {
        older.push(readFileSync(file));
        await client.appendToStream(name, numbered(0));
      }
    }
    await client.dispose();
    await store.close();
  }
  await seal(dir);
  return { older, sound: readFileSync(file), seal: readFileSync(join(dir, 'closed')) };
}

async function write(client: EventStoreDBClient, half: number): Promise<void> {
  await client.setStreamMetadata('aged-1', { maxAge: 60 });
  await client.setStreamMetadata('cut-1', { maxCount: 5 });
  for (let i = 0; i < ROUNDS / 2; i++) {
    for (const name of ['aged-1', 'cut-1']) await client.appendToStream(name, [numbered(i), numbered(i)]);
    const noted = () => jsonEvent({ type: 'noted', data: { i, MARK } });
    await Promise.all(plainStreams.map((name) => client.appendToStream(name, noted())));
  }
  await client.appendToStream('large-1', jsonEvent({ type: 'large', data: { text: 'x'.repeat(30_000) } }));
  await client.appendToStream('soft-1', numbered(half));
  await client.deleteStream('soft-1');
  await client.appendToStream('links-1', ['0@plain-3', `${half}@plain-4`, '0@soft-1'].map(link));
  if (half === 1) await client.tombstoneStream('hard-1');
}

async function hasAged(client: EventStoreDBClient): Promise<boolean> {
  for await (const { event } of client.readAll()) if (event!.streamId === 'aged-1') return true;
  return false;
}
