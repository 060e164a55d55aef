import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Entry, entriesOf } from '../../src/data/account/journal/entry.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import { GroupCommit } from '../../src/data/account/journal/group-commit.ts';
import { Journal } from '../../src/data/account/journal/journal.ts';
import { begun, settlement } from './some-request.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-commit-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const idsOf = (entries: readonly Entry[]): string[] =>
  entries.map((entry) =>
    entry.kind === 'begun'
      ? `begun ${entry.begun.request_id}`
      : entry.kind === 'settled'
        ? `settled ${entry.settlement.request_id}`
        : 'decided',
  );

describe('the lines of one turn', () => {
  test('are written together, in their order, and what comes in the next turn after them', async () => {
    const groups: string[][] = [];
    const commit = new GroupCommit({ write: (entries) => groups.push(idsOf(entries)) > 0 });
    const [a, b] = [commit.begin(begun('a')), commit.begin(begun('b'))];
    expect(commit.settle(settlement('x'))).toBe(a);
    expect(groups).toEqual([]);
    expect(await Promise.all([a, b])).toEqual([true, true]);
    await commit.settle(settlement('a'));
    expect(groups).toEqual([['begun a', 'begun b', 'settled x'], ['settled a']]);
    await nextTurn();
    expect(groups.length).toBe(2);
  });

  test('are with the operating system before anybody hears of them', async () => {
    const journal = await Journal.open({
      files: new JournalFiles(dir),
      first: 1,
      everyMs: 1_000_000,
      unwritten() {},
      written() {},
    });
    const commit = new GroupCommit(journal);
    const read = (): string[] =>
      readdirSync(dir)
        .filter((name) => name.endsWith('.open'))
        .flatMap((name) => idsOf(entriesOf(readFileSync(join(dir, name), 'utf8')).entries));
    await Promise.all(
      ['a', 'b'].map(async (id) => {
        expect(await commit.begin(begun(id))).toBe(true);
        expect(read()).toEqual(['begun a', 'begun b']);
      }),
    );
    await commit.settle(settlement('b'));
    expect(read()).toEqual(['begun a', 'begun b', 'settled b']);
    expect(await journal.close()).toBe(0);
  });

  test('that the disk does not take: nothing of the turn begins, an end of before is kept, and one of a request of this turn is not', async () => {
    const told: string[] = [];
    const files = new JournalFiles(dir);
    const begin = files.begin.bind(files);
    const broken = { now: false };
    files.begin = async (number) =>
      new Proxy(await begin(number), {
        get(file, property) {
          if (property === 'fd' && broken.now) return 1_000_000;
          const value = Reflect.get(file, property, file);
          return typeof value === 'function' ? value.bind(file) : value;
        },
      });
    const journal = await Journal.open({
      files,
      first: 1,
      everyMs: 1_000_000,
      unwritten: () => told.push('unwritten'),
      written() {},
    });
    const commit = new GroupCommit(journal);
    expect(await commit.begin(begun('before'))).toBe(true);
    broken.now = true;
    const turn = [commit.begin(begun('a')), commit.settle(settlement('before')), commit.settle(settlement('a'))];
    expect([await Promise.all(turn), told]).toEqual([[false, false, false], ['unwritten']]);
    expect(await journal.close()).toBe(0);
    const written = readdirSync(dir).flatMap((name) => idsOf(entriesOf(readFileSync(join(dir, name), 'utf8')).entries));
    expect(written.sort()).toEqual(['begun before', 'settled before']);
  });
});
