import { expect, test } from 'vitest';
import { applyBatch, type Projection } from '../../src/kernel/projections/apply-batch.ts';
import { table } from '../../src/kernel/rows/rows.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';

const names = table<{ name: string }>('names');

/** Renames to what an event says, or removes; tells what was there. */
const naming = (seen: (string | undefined)[]): Projection => ({
  name: 'naming',
  version: 1,
  categories: ['thing'],
  tables: [names],
  apply({ data }, rows) {
    seen.push(rows.get(names, 'a')?.name);
    if (data.n === 0) return;
    if (data.n === 1) rows.remove(names, 'a');
    else rows.put(names, 'a', { name: `n${data.n}` });
  },
});

const batchOf = (...numbers: number[]): Recorded[] =>
  numbers.map((n, i) => ({ ...event(n), stream: 'thing-a', revision: i, position: BigInt(i + 1) }));

test('a batch sees its own changes, removals too, and reads from the file once what it does not change', () => {
  let reads = 0;
  const stored = {
    get<Row>() {
      reads += 1;
      return { name: 'old' } as Row;
    },
  };
  const seen: (string | undefined)[] = [];
  const { changes } = applyBatch(naming(seen), batchOf(0, 0, 1, 0, 2, 0), stored);
  expect(seen).toEqual(['old', 'old', 'old', undefined, undefined, 'n2']);
  expect(reads).toBe(1);
  expect(changes).toEqual(new Map([['names', new Map([['a', { name: 'n2' }]])]]));
  expect(applyBatch(naming([]), batchOf(0, 0), stored).changes.size).toBe(0);
});
