import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Entry, entriesOf, lineOf } from '../../src/usage/journal/entry.ts';
import { JournalFiles } from '../../src/usage/journal/files.ts';
import { Journal } from '../../src/usage/journal/journal.ts';
import { recover } from '../../src/usage/journal/recover.ts';
import { begun, settlement } from './some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-usage-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const never = 1_000_000;

const opened = async (options: { files?: JournalFiles; first?: number; mostWaiting?: number } = {}) => {
  const told: string[] = [];
  const journal = await Journal.open({
    files: options.files ?? new JournalFiles(dir),
    first: options.first ?? 1,
    everyMs: never,
    unwritten: () => told.push('unwritten'),
    written: () => told.push('written'),
    ...(options.mostWaiting && { mostWaiting: options.mostWaiting }),
  });
  return { journal, told };
};

/** The ids that the files of a folder settle, each as often as it stands there. */
const settledIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /\.(open|sent)$/.test(name))
    .flatMap((name) => entriesOf(readFileSync(join(folder, name), 'utf8')).entries)
    .flatMap((entry) => (entry.kind === 'settled' ? [entry.settlement.request_id] : []));

describe('the journal', () => {
  test('has a line in the file before it returns, without any wait', async () => {
    const { journal } = await opened();
    journal.begin(begun('a'));
    journal.settle(settlement('a'));
    const { entries } = entriesOf(readFileSync(join(dir, '1.open'), 'utf8'));
    expect(entries).toEqual([
      { kind: 'begun', begun: begun('a') },
      { kind: 'settled', settlement: settlement('a') },
    ]);
    await journal.close();
  });

  test('has each value of a line where it belongs', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,40}$/);
    const number = fc.nat(Number.MAX_SAFE_INTEGER);
    const like = <T extends object>(one: T): fc.Arbitrary<T> =>
      fc.record(
        Object.fromEntries(
          Object.entries(one).map(([name, value]) => [
            name,
            name === 'first_token_ms' ? fc.option(number) : typeof value === 'string' ? word : number,
          ]),
        ),
      ) as unknown as fc.Arbitrary<T>;
    fc.assert(
      fc.property(like(begun('a')), like(settlement('a')), (one, other) => {
        const entries: Entry[] = [
          { kind: 'begun', begun: one },
          { kind: 'settled', settlement: other },
        ];
        expect(entriesOf(entries.map(lineOf).join(''))).toEqual({ entries, damaged: 0 });
      }),
    );
  });

  test('closes a file and begins another, and says which are still needed', async () => {
    const { journal } = await opened();
    expect(await journal.rotate()).toBeNull();
    journal.begin(begun('a'));
    journal.begin(begun('b'));
    expect(await journal.rotate(10_000)).toBeNull();
    expect(await journal.rotate()).toMatchObject({ number: 1, entries: [{ kind: 'begun' }, { kind: 'begun' }] });
    expect(journal.isNeeded(1)).toBe(true);
    journal.settle(settlement('a'));
    expect(journal.isNeeded(1)).toBe(true);
    journal.settle(settlement('b'));
    expect(journal.isNeeded(1)).toBe(false);
    expect(readdirSync(dir).sort()).toEqual(['1.open', '2.open']);
    expect(await journal.rotate()).toEqual({
      number: 2,
      entries: ['a', 'b'].map((id) => ({ kind: 'settled', settlement: settlement(id) })),
    });
    await journal.close();
  });

  test('settles at the next start what was in flight, however often that start is broken off', async () => {
    const first = await opened();
    first.journal.begin(begun('a'));
    first.journal.begin(begun('b'));
    first.journal.settle(settlement('b'));
    for (const again of [1, 2]) {
      const left = await recover(new JournalFiles(dir));
      expect([again, left.unsent, left.damaged]).toEqual([again, [1], 0]);
      expect(left.abandoned).toMatchObject([
        {
          request_id: 'a',
          usage_source: 'estimated',
          status: 500,
          input_tokens: 7,
          output_tokens: 0,
          micro_dollars: 21,
        },
      ]);
    }
    const second = await opened({ first: 2 });
    second.journal.settle((await recover(new JournalFiles(dir))).abandoned[0]!);
    expect((await recover(new JournalFiles(dir))).abandoned).toEqual([]);
    await first.journal.close();
    await second.journal.close();
  });
});

describe('a file that a crash has cut', () => {
  test('has every line before the cut, wherever it is, and none of the rest', async () => {
    const { journal } = await opened();
    for (const id of ['a', 'b', 'c']) {
      journal.begin(begun(id));
      journal.settle(settlement(id));
    }
    await journal.close();
    const file = join(dir, '1.open');
    const whole = readFileSync(file);
    for (let length = whole.length; length >= 0; length--) {
      truncateSync(file, length);
      const lines = whole.subarray(0, length).toString().split('\n').length - 1;
      const left = await recover(new JournalFiles(dir));
      expect(left.damaged).toBe(0);
      expect(settledIn(dir).length).toBe(Math.floor(lines / 2));
      expect(left.abandoned.length).toBe(lines % 2);
    }
  });

  test('tells of lines that are not what was written, and settles their requests by what began', async () => {
    const { journal } = await opened();
    journal.begin(begun('a'));
    journal.settle(settlement('a'));
    journal.begin(begun('b'));
    journal.settle(settlement('b'));
    await journal.close();
    const file = join(dir, '1.open');
    const text = readFileSync(file, 'utf8');
    // The first settlement says one token more.
    writeFileSync(file, text.replace('"messages",10,5,', '"messages",10,6,'));
    const left = await recover(new JournalFiles(dir));
    expect([left.damaged, left.abandoned.map((each) => each.request_id)]).toEqual([1, ['a']]);
    expect(settledIn(dir)).toEqual(['b']);
  });
});

/** Files whose disk fails when it is told to. */
class FailingFiles extends JournalFiles {
  fails = { begin: false, write: false, sync: false, close: false };

  override async begin(number: number): Promise<FileHandle> {
    if (this.fails.begin) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    const file = await super.begin(number);
    const { fails } = this;
    return new Proxy(file, {
      get(target, name) {
        // What cannot be written to is no open file.
        if (name === 'fd') return fails.write ? 1_000_000 : target.fd;
        if (name === 'datasync' && fails.sync) return () => Promise.reject(new Error('EIO'));
        if (name === 'close' && fails.close) return () => target.close().then(() => Promise.reject(new Error('EIO')));
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

describe('a disk that takes nothing', () => {
  test('is told of once, loses nothing, and is told of once when it works again', async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files, mostWaiting: 3 });
    journal.settle(settlement('a'));
    files.fails.write = true;
    journal.settle(settlement('b'));
    journal.settle(settlement('c'));
    await journal.sync();
    expect([told, journal.isSound, journal.isFull]).toEqual([['unwritten'], false, false]);
    journal.settle(settlement('d'));
    expect(journal.isFull).toBe(true);
    expect(settledIn(dir)).toEqual(['a']);
    files.fails.write = false;
    await journal.sync();
    expect([told, journal.isSound, journal.isFull]).toEqual([['unwritten', 'written'], true, false]);
    expect(settledIn(dir)).toEqual(['a', 'b', 'c', 'd']);
    await journal.close();
  });

  test('from the start on is written to when it is there', async () => {
    const files = new FailingFiles(dir);
    files.fails.begin = true;
    const { journal } = await opened({ files });
    journal.begin(begun('a'));
    expect(readdirSync(dir)).toEqual([]);
    files.fails.begin = false;
    await journal.sync();
    expect((await recover(new JournalFiles(dir))).abandoned.map((each) => each.request_id)).toEqual(['a']);
    await journal.close();
  });

  test('and fails a wait for it has all of the file written anew, once', async () => {
    const files = new FailingFiles(dir);
    const { journal } = await opened({ files });
    journal.begin(begun('a'));
    journal.settle(settlement('a'));
    journal.begin(begun('b'));
    files.fails.sync = true;
    await journal.sync();
    // Between the two files a crash leaves both: what is in the second is not in the first as well.
    files.fails.sync = false;
    journal.settle(settlement('b'));
    await journal.sync();
    expect(readdirSync(dir)).toEqual(['2.open']);
    expect(settledIn(dir)).toEqual(['a', 'b']);
    expect(journal.isNeeded(2)).toBe(false);
    await journal.close();
  });

  test("and fails as a file is closed, is told of, and stands in nobody's way", async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    journal.settle(settlement('a'));
    files.fails.close = true;
    expect(await journal.rotate()).toMatchObject({ number: 1 });
    files.fails.close = false;
    expect([told, journal.isSound]).toEqual([['unwritten'], false]);
    journal.settle(settlement('b'));
    await journal.sync();
    expect([told, journal.isSound]).toEqual([['unwritten', 'written'], true]);
    expect(await journal.rotate()).toMatchObject({ number: 2 });
    expect(settledIn(dir)).toEqual(['a', 'b']);
    await journal.close();
  });

  test.each([
    ['as a whole, and more', [1, 1], [2]],
    ['as a whole, and a line that was cut off', [1, 0.5], [2]],
    ['in part', [0.7, 0], [1]],
  ])('leaves one of two files of which the second has the first %s', async (_, [share, more], left) => {
    const { journal } = await opened();
    for (const id of ['a', 'b', 'c']) {
      journal.begin(begun(id));
      journal.settle(settlement(id));
    }
    await journal.close();
    const text = readFileSync(join(dir, '1.open'), 'utf8');
    const next = lineOf({ kind: 'settled', settlement: settlement('d') });
    writeFileSync(join(dir, '2.open'), text.slice(0, text.length * share!) + next.slice(0, next.length * more!));
    const { unsent } = await recover(new JournalFiles(dir));
    expect(unsent).toEqual(left);
    expect(settledIn(dir).filter((id) => id !== 'd')).toEqual(['a', 'b', 'c']);
  });

  test('leaves the second of two files of which the first has a damaged line', async () => {
    const line = (id: string) => lineOf({ kind: 'settled', settlement: settlement(id) });
    writeFileSync(join(dir, '1.open'), line('a') + line('b').replace('org_1', 'org\0\0') + line('c'));
    writeFileSync(join(dir, '2.open'), line('a') + line('b') + line('c') + line('d'));
    expect((await recover(new JournalFiles(dir))).unsent).toEqual([2]);
    expect(settledIn(dir)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('that does not let go of a file that was given up keeps that one and the next, and nothing is sent meanwhile', async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    journal.settle(settlement('a'));
    files.fails.sync = true;
    await journal.sync();
    files.fails.sync = false;
    const drop = vi.spyOn(files, 'drop').mockRejectedValue(new Error('EIO'));
    for (let i = 0; i < 5; i++) await journal.sync();
    expect([readdirSync(dir).sort(), await journal.rotate()]).toEqual([['1.open', '2.open'], null]);
    drop.mockRestore();
    await journal.sync();
    expect([readdirSync(dir), told]).toEqual([['2.open'], ['unwritten', 'written']]);
    expect(await journal.rotate()).toMatchObject({ number: 2 });
    await journal.close();
  });

  test('leaves one of two files that say the same', async () => {
    const { journal } = await opened();
    journal.begin(begun('a'));
    journal.settle(settlement('a'));
    await journal.close();
    const text = readFileSync(join(dir, '1.open'), 'utf8');
    writeFileSync(join(dir, '2.open'), text);
    const { unsent } = await recover(new JournalFiles(dir));
    expect([unsent, settledIn(dir)]).toEqual([[2], ['a']]);
  });
});

test('whatever happens in whatever order, each request is settled once', async () => {
  const step = fc.oneof(
    fc.record({ is: fc.constant('begin' as const) }),
    fc.record({ is: fc.constant('settle' as const), which: fc.nat(20) }),
    fc.record({ is: fc.constantFrom('rotate' as const, 'sync' as const, 'crash' as const, 'bad sync' as const) }),
    fc.record({ is: fc.constantFrom('full' as const, 'room' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const own = mkdtempSync(join(dir, 'run-'));
      let files = new FailingFiles(own);
      let at = await opened({ files });
      const known = new Set<string>();
      let open: string[] = [];
      let made = 0;
      const restart = async (): Promise<void> => {
        files = new FailingFiles(own);
        const left = await recover(files);
        at = await opened({ files, first: Math.max(0, ...left.sent, ...left.unsent) + 1 });
        for (const each of left.abandoned) at.journal.settle(each);
        open = [];
      };
      for (const each of steps) {
        if (each.is === 'begin') {
          const id = `r${made++}`;
          at.journal.begin(begun(id));
          // What waits in memory goes with the process: it was not promised.
          if (at.journal.isSound) known.add(id);
          open.push(id);
        } else if (each.is === 'settle' && open.length > 0) {
          const [id] = open.splice(each.which % open.length, 1);
          at.journal.settle(settlement(id!));
        } else if (each.is === 'rotate') await at.journal.rotate();
        else if (each.is === 'sync') await at.journal.sync();
        else if (each.is === 'bad sync') {
          files.fails.sync = true;
          await at.journal.sync();
          files.fails.sync = false;
        } else if (each.is === 'full') files.fails.write = true;
        else if (each.is === 'room') {
          files.fails.write = false;
          await at.journal.sync();
          if (at.journal.isSound) for (const id of open) known.add(id);
        } else if (each.is === 'crash') {
          if (!at.journal.isSound) continue;
          await restart();
        }
      }
      files.fails.write = false;
      await at.journal.sync();
      await restart();
      await at.journal.sync();
      const settled = settledIn(own);
      expect(settled.length).toBe(new Set(settled).size);
      for (const id of known) expect(settled).toContain(id);
      await at.journal.close();
    }),
    { numRuns: 60 },
  );
});
