import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KeptCheckpoint } from '../../src/kernel/followers/checkpoint.ts';
import { WriteBehind } from '../../src/kernel/projections/write-behind.ts';
import { table } from '../../src/kernel/rows/rows.ts';

interface Sum {
  readonly upTo: number;
  readonly sum: number;
}
const sums = table<Sum>('sums');

/** A projection that holds its rows, with the file that they go into: what of it is left after a crash is the file alone. */
class Counter {
  readonly file = new Map<string, Sum | null>();
  /** Events up to here are in the file, whichever row they went to. */
  mark = 0;
  /** What has happened: each event adds to one row, and its position is its place. */
  readonly log: { readonly key: string; readonly amount: number }[] = [];
  #held = new WriteBehind(2);
  #position = 0;

  get(key: string): Sum | undefined {
    const held = this.#held.get(sums, key);
    return (held === undefined ? this.file.get(key) : (held as Sum | null)) ?? undefined;
  }

  /** Applies what has happened since. */
  follow(): void {
    for (; this.#position < this.log.length; this.#position++) {
      const { key, amount } = this.log[this.#position]!;
      const upTo = this.#position + 1;
      const before = this.get(key);
      const row = before && before.upTo >= upTo ? before : { upTo, sum: (before?.sum ?? 0) + amount };
      const checkpoint = { position: String(upTo) } as KeptCheckpoint;
      this.#held.add(new Map([['sums', new Map([[key, row]])]]), checkpoint);
    }
  }

  /** @param whileWriting happens before the slice is known to be there */
  write(whileWriting = () => {}): void {
    if (this.#held.isEmpty) return;
    const slice = this.#held.next();
    whileWriting();
    for (const [key, row] of slice.changes.get('sums') ?? []) this.file.set(key, row as Sum | null);
    if (slice.checkpoint) this.mark = Number(slice.checkpoint.position);
    this.#held.written(slice);
  }

  get isWritten(): boolean {
    return this.#held.isEmpty;
  }

  crash(): void {
    this.#held = new WriteBehind(2);
    this.#position = this.mark;
  }
}

describe('rows that are written later', () => {
  test('are shown as they are, and are whole after any crash', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      // Some while a slice is on its way into the file.
      fc.record({ key, amount: fc.nat(9), meanwhile: fc.boolean() }),
      fc.record({ is: fc.constantFrom('follow', 'write', 'crash') }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const counter = new Counter();
        for (const each of steps) {
          if ('key' in each) {
            const happens = () => {
              counter.log.push(each);
              if (each.meanwhile) counter.follow();
            };
            if (each.meanwhile) counter.write(happens);
            else happens();
          } else if (each.is === 'follow') counter.follow();
          else if (each.is === 'write') counter.write();
          else counter.crash();
        }
        const expected = (key: string) =>
          counter.log.reduce((sum, each) => sum + (each.key === key ? each.amount : 0), 0);
        const shown = (key: string) => counter.get(key)?.sum ?? 0;
        counter.follow();
        const keys = ['a', 'b', 'c', 'd', 'e'];
        expect(keys.map(shown)).toEqual(keys.map(expected));
        while (!counter.isWritten) counter.write();
        expect(keys.map((key) => counter.file.get(key)?.sum ?? 0)).toEqual(keys.map(expected));
        if (counter.log.length > 0 && counter.file.size > 0)
          expect(counter.mark).toBeLessThanOrEqual(counter.log.length);
        counter.crash();
        counter.follow();
        expect(keys.map(shown)).toEqual(keys.map(expected));
      }),
      { numRuns: 1_000 },
    );
  });

  test('that were changed a hundred times are written once, with the checkpoint of all when the last of them is', () => {
    const held = new WriteBehind(2);
    const at = (position: number) => ({ position: String(position) }) as KeptCheckpoint;
    for (let n = 1; n <= 300; n++) held.add(new Map([['sums', new Map([[`${n % 3}`, { n }]])]]), at(n));
    const first = held.next();
    expect([first.changes.get('sums')?.size, first.checkpoint]).toEqual([2, undefined]);
    held.add(new Map([['sums', new Map([['late', { n: 301 }]])]]), at(301));
    held.written(first);
    const second = held.next();
    // It is the checkpoint of what was set apart, not of what has come since.
    expect([[...second.changes.get('sums')!], second.checkpoint]).toEqual([[['0', { n: 300 }]], at(300)]);
    held.written(second);
    const third = held.next();
    expect([[...third.changes.get('sums')!.keys()], third.checkpoint]).toEqual([['late'], at(301)]);
    held.written(third);
    expect(held.isEmpty).toBe(true);
  });

  test('are written in small steps, the faster the more there are', () => {
    const held = new WriteBehind(500);
    const of = (rows: number) => new Map([['sums', new Map(Array.from({ length: rows }, (_, n) => [`${n}`, { n }]))]]);
    const slices = (): number => {
      let count = 0;
      for (; !held.isEmpty; count++) held.written(held.next());
      return count;
    };
    for (const [rows, steps, pauseMs] of [
      [1, 1, 500],
      [500, 1, 500],
      [501, 2, 500],
      [40_000, 80, 250],
      [500_001, 1_001, 20],
    ] as const) {
      held.add(of(rows), undefined);
      expect([slices(), held.pauseMs]).toEqual([steps, pauseMs]);
    }
  });

  test('hide what the file has of a row that is gone', () => {
    const held = new WriteBehind();
    held.add(new Map([['sums', new Map([['a', null]])]]), undefined);
    expect([held.get(sums, 'a'), held.get(sums, 'b')]).toEqual([null, undefined]);
    held.clear();
    expect(held.get(sums, 'a')).toBeUndefined();
  });
});
