import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyStore } from '../../src/embedded/maintenance/verify.ts';
import { place } from '../torture/corruption.ts';
import { Scene } from '../torture/scene.ts';
import { MARK, plainStreams, ROUNDS, soundStore } from '../torture/sound-store.ts';

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
