import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { StoreDamaged } from '../../src/kernel/store/store.ts';
import { place } from '../torture/corruption.ts';
import { Scene } from '../torture/scene.ts';
import { MARK, plainStreams, ROUNDS, soundStore } from '../torture/sound-store.ts';
import { collect, openStore, rejection } from './store-under-test.ts';

// That no damage of any kind goes unnoticed is D6 of ../torture.
test('a damaged store has its damaged records named, each by position, stream and revision', async () => {
  const scene = new Scene();
  try {
    const { sound } = await soundStore(scene);
    const bytes = Buffer.from(sound);
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) bytes[at + 5]! ^= 4;
    const { verdict, damages, more } = await verifyStore(place(join(scene.dir(), 'damaged'), bytes, 'unknown'));
    expect(verdict).toBe('corrupt');
    expect(more).toBe(0);
    expect(new Set(damages.map(({ what }) => what))).toEqual(new Set(['The record is damaged.']));
    const named = damages.map(({ stream, revision }) => `${stream}@${revision}`);
    const expected = plainStreams.map((name) => Array.from({ length: ROUNDS }, (_, i) => `${name}@${i}`));
    expect(named.sort()).toEqual(expected.flat().sort());
    expect(damages.every(({ position }) => position! > 0)).toBe(true);
  } finally {
    await scene.end();
  }
});

test('whoever comes upon a damaged event is told at once which it is, and nobody else', async () => {
  const name = 'what the disk will change';
  const event = (text: string) => ({ id: randomUUID(), type: 'named', data: { text }, metadata });
  const metadata = {
    at: 0,
    actor: { type: 'system', id: 'weir' },
    $correlationId: '',
    $causationId: '',
    v: 1,
  } as const;
  const before = await openStore();
  const { position } = await (async () => {
    const store = connect({ endpoint: before.endpoint });
    await store.append('name-a', [event('sound')], 'no_stream');
    const appended = await store.append('name-a', [event(name)], 0);
    await store.append('name-b', [event('sound')], 'no_stream');
    await store.close();
    return appended;
  })();
  await before.close();
  const file = join(before.dir, 'events.mdb');
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) bytes[at]! ^= 1;
  writeFileSync(file, bytes);

  const { endpoint } = await openStore({ dir: before.dir });
  const store = connect({ endpoint });
  const named = `Event 1 of name-a, at position ${position}, is damaged`;
  const reading = rejection(collect(store.read('name-a')));
  // One that has to be compared with the damaged event, and one on the same call that has not.
  const repeated = rejection(store.append('name-a', [event('other')], 0));
  const appended = store.append('name-b', [event('sound too')], 0);
  for (const error of await Promise.all([reading, repeated])) {
    expect(error).toBeInstanceOf(StoreDamaged);
    expect(error.message).toContain(named);
    expect(error.message).toContain('weir store verify');
  }
  expect((await appended).revision).toBe(1);
  // What comes before the damage is given out.
  const texts: unknown[] = [];
  const following = rejection(
    (async () => {
      const all = store.readAll({ from: 'start', direction: 'forwards', limit: 100 });
      for await (const { data } of all) texts.push(data.text);
    })(),
  );
  expect((await following).message).toContain(`position ${position} is damaged`);
  expect(texts).toEqual(['sound']);
  const failed = new Promise<Error>((resolve) => {
    store.subscribe({ after: null, deliver: async () => {}, failed: resolve });
  });
  expect(await failed).toBeInstanceOf(StoreDamaged);
  await store.close();
});
