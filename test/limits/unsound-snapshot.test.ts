import { crc32 } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { countRequest } from '../../src/limits/count-request.ts';
import { creditWindows, inferenceWindows } from '../../src/limits/families.ts';
import { restore } from '../../src/limits/snapshot/restore.ts';
import { startHalfFull } from '../../src/limits/window/half-full.ts';
import { limitSubject, WindowStore } from '../../src/limits/window/window-store.ts';
import { busy, drain, inferenceOf, used, wall } from './snapshots.ts';
import { smallPlans } from './world.ts';

vi.setConfig({ testTimeout: 120_000 });

describe('bytes that are no sound snapshot', () => {
  const sound = () => {
    const { store } = busy();
    return Buffer.from(drain(store, wall, 2_000)[0]!);
  };

  test('are refused for every single bit that is wrong', () => {
    const bytes = sound();
    const reasons = new Set<string>();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      const result = restore(inferenceOf(), [damaged], wall, 0);
      expect(result.records).toBe(0);
      expect(result.halfFull).toBe(true);
      reasons.add(result.refused[0]!.reason);
    }
    expect([...reasons].sort()).toEqual(['checksum', 'not_a_snapshot', 'other_version', 'truncated']);
  });

  test('are refused at every length they can be cut to', () => {
    const bytes = sound();
    for (let length = 1; length < bytes.length; length++) {
      expect(restore(inferenceOf(), [bytes.subarray(0, length)], wall, 0).refused[0]!.reason).toBe('truncated');
    }
  });

  test('do not spoil what came before them, and what comes after is not read', () => {
    const bytes = sound();
    const torn = Buffer.concat([bytes, bytes.subarray(0, 60), bytes]);
    const store = inferenceOf();
    expect(restore(store, [torn], wall, 0)).toEqual({
      records: 3,
      refused: [{ buffer: 0, offset: bytes.length, reason: 'checksum' }],
      halfFull: true,
    });
    // What was restored, filled to half.
    expect(used(store, 0)[0]).toEqual([30, 21, 0, 500_000]);
  });

  test('are refused when they are of another family or of another log', () => {
    const bytes = sound();
    expect(restore(creditWindows(), [bytes], wall, 0).refused[0]!.reason).toBe('other_family');
    const elsewhere = inferenceWindows({ tierOf: () => 0, owner: 'log_2' });
    expect(restore(elsewhere, [bytes], wall, 0).refused[0]!.reason).toBe('other_family');
  });

  test('canary: it is the checksum that refuses a changed amount', () => {
    const bytes = sound();
    const tokens = bytes.indexOf(Buffer.from([0x58, 0x02, 0, 0]));
    bytes.writeUInt32LE(1, tokens);
    expect(restore(inferenceOf(), [bytes], wall, 0).refused[0]!.reason).toBe('checksum');
    bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4);
    expect(restore(inferenceOf(), [bytes], wall, 0).refused).toEqual([]);
  });
});

describe('without a snapshot', () => {
  test('records of the first minute begin with half of their minute, and of no other window', () => {
    const store = inferenceOf();
    expect(restore(store, [], wall, 1_000)).toEqual({ records: 0, refused: [], halfFull: true });
    const me = limitSubject('k', 'p', 'o');
    expect(countRequest(store, me, 1_500)).toBe(0);
    expect(used(store, 1_500)).toEqual([
      [31, 1, 0, 500_000],
      [46, 1, 0, 750_000],
      [61, 1, 0, 1_000_000, 0],
    ]);
    for (let n = 0; n < 29; n++) expect(countRequest(store, me, 2_000)).toBe(0);
    expect(countRequest(store, me, 2_000)).not.toBe(0);
    expect(used(store, 62_500)).toEqual([
      [0, 31, 0, 0],
      [0, 31, 0, 0],
      [0, 31, 0, 0, 0],
    ]);
  });

  test('and after that minute nothing is held against anybody', () => {
    const store = inferenceOf();
    startHalfFull(store, 0);
    countRequest(store, limitSubject('k', 'p', 'o'), 60_000);
    expect(used(store, 60_000)[0]).toEqual([1, 1, 0, 0]);
  });

  test('nothing is held against a deployment that has never run', () => {
    const store = inferenceOf();
    countRequest(store, limitSubject('k', 'p', 'o'), 0);
    expect(used(store, 0)[0]).toEqual([1, 1, 0, 0]);
  });

  test('plans of a single request a minute can begin half full too', () => {
    const store = new WindowStore({
      name: 'test',
      scopes: ['key', 'project', 'organization'],
      plans: smallPlans.map((plan) => plan.map((limits) => ({ ...limits, rpm: 1 }))),
      tierOf: () => 0,
    });
    startHalfFull(store, 0);
    expect(countRequest(store, limitSubject('k', 'p', 'o'), 0)).not.toBe(0);
    expect(countRequest(store, limitSubject('k', 'p', 'o'), 59_999)).not.toBe(0);
    expect(countRequest(store, limitSubject('k', 'p', 'o'), 119_998)).not.toBe(0);
    expect(countRequest(store, limitSubject('k', 'p', 'o'), 179_998)).toBe(0);
  });
});
