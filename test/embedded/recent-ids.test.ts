import { describe, expect, test } from 'vitest';
import { RecentIds } from '../../src/embedded/store/commit/recent-ids.ts';

const capacity = 65_536;
const id = (n: number): string => String.fromCharCode(n >> 16, n & 0xffff).padEnd(16, '.');

describe('the ids of recent events', () => {
  test('are as many as fit into 8 MiB: the newest, on the streams that they were written to', () => {
    const recent = new RecentIds();
    for (let n = 0; n < capacity; n++) recent.add(id(n), 's', n, n + 1);
    expect(recent.find(id(0), 's')).toMatchObject({ revision: 0, position: 1 });
    expect(recent.find(id(0), 'other')).toBeUndefined();
    recent.add(id(capacity), 's', capacity, capacity + 1);
    expect(recent.find(id(0), 's')).toBeUndefined();
    expect(recent.find(id(1), 's')).toMatchObject({ revision: 1 });
    for (let n = capacity + 1; n < 3 * capacity; n++) recent.add(id(n), 's', n, n + 1);
    const kept = Array.from({ length: 3 * capacity }, (_, n) => recent.find(id(n), 's') !== undefined);
    expect(kept).toEqual(Array.from({ length: 3 * capacity }, (_, n) => n >= 2 * capacity));
  });

  test('that came again on another stream are known for that one until their own time is over', () => {
    const recent = new RecentIds();
    recent.add(id(0), 'a', 0, 1);
    recent.add(id(0), 'b', 0, 2);
    for (let n = 1; n < capacity; n++) recent.add(id(n), 's', n, n + 2);
    expect(recent.find(id(0), 'a')).toBeUndefined();
    expect(recent.find(id(0), 'b')).toMatchObject({ position: 2 });
    recent.add(id(capacity), 's', capacity, 0);
    expect(recent.find(id(0), 'b')).toBeUndefined();
  });
});
