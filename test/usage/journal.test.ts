import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { abandoned, type Begun, type Entry, entriesOf, lineOf } from '../../src/data/account/journal/entry.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import { Journal, type JournalOptions } from '../../src/data/account/journal/journal.ts';
import { recover as recoverFrom } from '../../src/data/account/journal/recover.ts';
import { longestLine } from '../../src/data/account/journal/reserve.ts';
import type { Decision } from '../../src/domain/policy/decision-events.ts';
import { type Settlement, settlementsOf, usageSettled } from '../../src/domain/usage/usage-events.ts';
import { begun, settlement } from './some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-usage-'));
});
afterEach(() => {
  for (const path of [dir, `${dir}.unsent`, `${dir}-left`]) rmSync(path, { recursive: true, force: true });
});

const never = 1_000_000;
const mebibyte = 1024 * 1024;
const reserveSize = 4 * mebibyte;

const opened = async (options: Partial<Pick<JournalOptions, 'files' | 'first' | 'unsent' | 'volume'>> = {}) => {
  const told: string[] = [];
  const journal = await Journal.open({
    files: new JournalFiles(dir),
    first: 1,
    everyMs: never,
    ...options,
    unwritten: () => told.push('unwritten'),
    written: () => told.push('written'),
  });
  return { journal, told };
};

const recover = async (files: JournalFiles) => {
  const left = await recoverFrom(files);
  return { ...left, unsent: [...left.unsent.keys()], settles: left.unsent };
};

const beginIn = (journal: Journal, request: Begun): boolean => journal.write([{ kind: 'begun', begun: request }]);
const settleIn = (journal: Journal, ended: Settlement): boolean =>
  journal.write([{ kind: 'settled', settlement: ended }]);
const decideIn = (journal: Journal, decision: Decision): boolean => journal.write([{ kind: 'decided', decision }]);

/** The ids that the files of a folder settle, each as often as it stands there. */
const settledIn = (folder: string): string[] => accountsIn(folder).map((each) => each.request_id);

const accountsIn = (folder: string): Settlement[] =>
  readdirSync(folder)
    .filter((name) => /\.(open|sent)$|^reserve$/.test(name))
    .flatMap((name) => entriesOf(readFileSync(join(folder, name), 'utf8')).entries)
    .flatMap((entry) => (entry.kind === 'settled' ? [entry.settlement] : []));

describe('the journal', () => {
  test('has a line in the file before it returns, without any wait', async () => {
    const { journal } = await opened();
    beginIn(journal, begun('a'));
    settleIn(journal, settlement('a'));
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

  test('has the alias that a request was sent with, if any, and reads lines from before there were aliases', () => {
    const details = { web_search: 1 };
    const entries: Entry[] = [
      { kind: 'begun', begun: begun('a', { requested_model: 'x/y' }) },
      { kind: 'settled', settlement: settlement('a', { requested_model: 'x/y' }) },
      { kind: 'settled', settlement: settlement('b', { requested_model: 'x/y', details }) },
      { kind: 'settled', settlement: settlement('c', { details }) },
      { kind: 'begun', begun: begun('d') },
      { kind: 'settled', settlement: settlement('d') },
    ];
    const lines = entries.map(lineOf).join('');
    const [a, ...others] = entries;
    const first = { kind: 'settled', settlement: settlement('a', { requested_model: 'x/y', details: null }) };
    expect(entriesOf(lines)).toEqual({ entries: [a, first, ...others.slice(1)], damaged: 0 });
    expect(abandoned(begun('a', { requested_model: 'x/y' })).requested_model).toBe('x/y');
    // As it was written without aliases.
    expect(
      lines
        .split('\n')
        .filter((line) => line.includes('"d"'))
        .map((line) => JSON.parse(line.slice(9)).length),
    ).toEqual([11, 18]);
    const rows = (...settlements: readonly Settlement[]) => usageSettled(settlements);
    expect(rows(settlement('d')).fields.at(-1)).toBe('first_token_ms');
    expect(rows(settlement('c', { details }), settlement('d')).fields.at(-1)).toBe('details');
    const mixed = rows(settlement('a', { requested_model: 'x/y' }), settlement('d'));
    expect([mixed.fields.slice(-2), settlementsOf({ ...mixed })]).toEqual([
      ['first_token_ms', 'requested_model'],
      [settlement('a', { requested_model: 'x/y' }), settlement('d', { requested_model: null })],
    ]);
  });

  test('has the tokens of thinking, if any, beside what else is rare', () => {
    const [details, requested_model, reasoning_tokens] = [{ web_search: 1 }, 'x/y', 7] as const;
    const all = [{}, { details }].flatMap((one) =>
      [{}, { requested_model }].flatMap((other) =>
        [{}, { reasoning_tokens }].map((third) => ({ ...one, ...other, ...third })),
      ),
    );
    const settlements = all.map((rare, at) => settlement(`r${at}`, rare));
    const { entries } = entriesOf(settlements.map((each) => lineOf({ kind: 'settled', settlement: each })).join(''));
    const given = (value: Settlement) => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
    const read = entries.map((entry) => given((entry as { settlement: Settlement }).settlement));
    expect(read).toEqual(settlements.map(given));
    const event = usageSettled(settlements);
    expect(event.fields.slice(-3)).toEqual(['details', 'requested_model', 'reasoning_tokens']);
    expect(settlementsOf({ ...event }).map(given)).toEqual(settlements.map(given));
    const alone = usageSettled([settlement('a', { reasoning_tokens })]);
    expect([alone.fields.at(-1), alone.rows[0]!.at(-1)]).toEqual(['reasoning_tokens', 7]);
  });

  test('has no line that is longer than the reserve has room for', () => {
    const [id, most] = ['i'.repeat(31), Number.MAX_SAFE_INTEGER];
    const tokens = { input_tokens: most, output_tokens: most, images: most };
    const cached = { cache_creation_input_tokens: most, cache_read_input_tokens: most };
    const details = {
      service_tier: 't'.repeat(32),
      ...{ input_cache_write_long: most, input_audio: most, output_audio: most, web_search: most, file_search: most },
    };
    const longest = settlement(id, {
      ...{
        organization_id: id,
        project_id: id,
        key_id: id,
        price: id,
        model: 'm'.repeat(200),
        api: 'chat.completions',
      },
      ...tokens,
      ...cached,
      details,
      requested_model: 'a'.repeat(200),
      reasoning_tokens: most,
      ...{ usage_source: 'estimated', micro_dollars: most, settled_at: most, duration_ms: most, first_token_ms: most },
    });
    const { length } = lineOf({ kind: 'settled', settlement: longest });
    expect(length).toBeLessThanOrEqual(longestLine);
    expect(length).toBeGreaterThan(longestLine / 2);
  });

  test('closes a file and begins another, and says which are still needed', async () => {
    const { journal } = await opened();
    expect(await journal.rotate()).toEqual([]);
    beginIn(journal, begun('a'));
    beginIn(journal, begun('b'));
    expect(await journal.rotate(10_000)).toEqual([]);
    expect(await journal.rotate()).toMatchObject([{ number: 1, entries: [{ kind: 'begun' }, { kind: 'begun' }] }]);
    expect(journal.isNeeded(1)).toBe(true);
    settleIn(journal, settlement('a'));
    expect(journal.isNeeded(1)).toBe(true);
    settleIn(journal, settlement('b'));
    expect(journal.isNeeded(1)).toBe(false);
    expect(readdirSync(dir).sort()).toEqual(['1.open', '2.open', 'reserve']);
    expect(await journal.rotate()).toEqual([
      { number: 2, entries: ['a', 'b'].map((id) => ({ kind: 'settled', settlement: settlement(id) })) },
    ]);
    await journal.close();
  });

  test('settles at the next start what was in flight, however often that start is broken off', async () => {
    const first = await opened();
    beginIn(first.journal, begun('a'));
    beginIn(first.journal, begun('b'));
    settleIn(first.journal, settlement('b'));
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
    settleIn(second.journal, (await recover(new JournalFiles(dir))).abandoned[0]!);
    expect((await recover(new JournalFiles(dir))).abandoned).toEqual([]);
    await first.journal.close();
    await second.journal.close();
  });
});

describe('a file that a crash has cut', () => {
  test('has every line before the cut, wherever it is, and none of the rest', async () => {
    const { journal } = await opened();
    for (const id of ['a', 'b']) {
      beginIn(journal, begun(id));
      settleIn(journal, settlement(id));
    }
    await journal.close();
    const file = join(dir, '1.open');
    const whole = readFileSync(file);
    // In each byte of the second request, whose lines are as those of the first, and where there is nothing at all.
    const first = whole.indexOf('\n', whole.indexOf('\n') + 1);
    for (const length of [...Array.from(whole.keys(), (at) => at + 1).slice(first - 1), 0].toSorted((a, b) => b - a)) {
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
    beginIn(journal, begun('a'));
    settleIn(journal, settlement('a'));
    beginIn(journal, begun('b'));
    settleIn(journal, settlement('b'));
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
  fails = { begin: false, write: false, reserve: false, sync: false, close: false };

  override async begin(number: number): Promise<FileHandle> {
    if (this.fails.begin) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    return this.#failing(await super.begin(number), () => this.fails.write);
  }

  override async openReserve(): Promise<FileHandle> {
    return this.#failing(await super.openReserve(), () => this.fails.reserve);
  }

  #failing(file: FileHandle, cannotWrite: () => boolean): FileHandle {
    const { fails } = this;
    return new Proxy(file, {
      get(target, name) {
        // What cannot be written to is no open file.
        if (name === 'fd') return cannotWrite() ? 1_000_000 : target.fd;
        if (name === 'writeFile' && cannotWrite()) return () => Promise.reject(new Error('ENOSPC'));
        if (name === 'datasync' && fails.sync) return () => Promise.reject(new Error('EIO'));
        if (name === 'close' && fails.close) return () => target.close().then(() => Promise.reject(new Error('EIO')));
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

describe('a disk that takes nothing', () => {
  test('is told of once, lets nothing begin, has the end of what has begun in the reserve, and is told of once when it is over', async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    for (const id of ['a', 'b', 'c']) expect(beginIn(journal, begun(id))).toBe(true);
    files.fails.write = true;
    expect([beginIn(journal, begun('d')), journal.isShut]).toEqual([false, true]);
    settleIn(journal, settlement('a'));
    await journal.sync();
    files.fails.write = false;
    // Though it would take it: nobody has looked yet.
    expect([beginIn(journal, begun('e')), decideIn(journal, {} as Decision)]).toEqual([false, false]);
    settleIn(journal, settlement('b'));
    expect([told, journal.isSound, settledIn(dir)]).toEqual([['unwritten'], false, ['a', 'b']]);
    // As a kill leaves it at this moment.
    cpSync(dir, `${dir}-left`, { recursive: true });
    const left = await recover(new JournalFiles(`${dir}-left`));
    expect(left).toMatchObject({ unsent: [1, 2, 3], damaged: 0, missing: 0, abandoned: [{ request_id: 'c' }] });

    await journal.sync();
    expect([told, journal.isSound, journal.isShut]).toEqual([['unwritten', 'written'], true, false]);
    settleIn(journal, settlement('c'));
    expect(await journal.rotate()).toMatchObject([{ number: 1 }, { number: 2 }, { number: 3 }]);
    expect(settledIn(dir)).toEqual(['a', 'b', 'c']);
    // What had been the reserve is as long as what it says.
    expect(readFileSync(join(dir, '2.open')).length).toBeLessThan(2_048);
    expect(statSync(join(dir, 'reserve')).size).toBe(reserveSize);
    await journal.close();
  });

  test('has in the reserve, when the process is killed, what ended then: a file like the others at the next start', async () => {
    const files = new FailingFiles(dir);
    const { journal } = await opened({ files });
    for (const id of ['a', 'b']) beginIn(journal, begun(id));
    files.fails.write = true;
    settleIn(journal, settlement('a'));
    cpSync(dir, `${dir}-left`, { recursive: true });
    for (const again of [1, 2]) {
      const left = await recover(new JournalFiles(`${dir}-left`));
      expect([again, left.unsent, left.damaged, left.missing]).toEqual([again, [1, 2], 0, 0]);
      expect(left.abandoned.map((each) => each.request_id)).toEqual(['b']);
    }
    expect(readFileSync(join(`${dir}-left`, '2.open'), 'utf8')).toBe(
      lineOf({ kind: 'settled', settlement: settlement('a') }),
    );
    expect(readdirSync(`${dir}-left`).sort()).toEqual(['1.open', '2.open']);
    await journal.close();
  });

  test('whose reserve is gone too has the ends of requests wait in memory, and says at the end how many there were', async () => {
    const files = new FailingFiles(dir);
    const { journal } = await opened({ files });
    for (const id of ['a', 'b', 'c']) beginIn(journal, begun(id));
    files.fails.write = true;
    files.fails.reserve = true;
    settleIn(journal, settlement('a'));
    settleIn(journal, settlement('b'));
    await journal.sync();
    expect(settledIn(dir)).toEqual([]);
    expect(await journal.close()).toBe(2);
    const left = await recover(new JournalFiles(dir));
    expect(left.abandoned.map((each) => each.request_id)).toEqual(['a', 'b', 'c']);
    expect(left.missing).toBe(0);
  });

  test('whose reserve is gone too is written to when it takes something again', async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    for (const id of ['a', 'b']) beginIn(journal, begun(id));
    files.fails.write = true;
    files.fails.reserve = true;
    settleIn(journal, settlement('a'));
    await journal.sync();
    files.fails.reserve = false;
    files.fails.write = false;
    settleIn(journal, settlement('b'));
    await journal.sync();
    expect([told, settledIn(dir)]).toEqual([
      ['unwritten', 'written'],
      ['a', 'b'],
    ]);
    expect(await journal.close()).toBe(0);
  });

  test('from the start on lets nothing begin before it is there', async () => {
    const files = new FailingFiles(dir);
    files.fails.begin = true;
    const { journal, told } = await opened({ files });
    expect([beginIn(journal, begun('a')), told]).toEqual([false, ['unwritten']]);
    expect(readdirSync(dir)).toEqual(['reserve']);
    // What the last run has left has its place all the same.
    settleIn(journal, settlement('x'));
    expect(settledIn(dir)).toEqual(['x']);
    files.fails.begin = false;
    await journal.sync();
    expect([beginIn(journal, begun('b')), told]).toEqual([true, ['unwritten', 'written']]);
    expect((await recover(new JournalFiles(dir))).abandoned.map((each) => each.request_id)).toEqual(['b']);
    await journal.close();
  });

  test('has a reserve for as many requests as are in flight, and where it finds none, no more of them', async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    expect(statSync(join(dir, 'reserve')).size).toBe(reserveSize);
    const most = reserveSize / longestLine;
    for (let i = 0; i <= most; i++) expect(beginIn(journal, begun(`r${i}`))).toBe(true);
    expect(statSync(join(dir, 'reserve')).size).toBe(reserveSize + 1024 * longestLine);
    for (let i = most + 1; i < most + 1024; i++) beginIn(journal, begun(`r${i}`));
    files.fails.reserve = true;
    expect([beginIn(journal, begun('x')), told]).toEqual([false, ['unwritten']]);
    await journal.close();
  });

  test('and fails a wait for it has all of the file written anew, once', async () => {
    const files = new FailingFiles(dir);
    const { journal } = await opened({ files });
    beginIn(journal, begun('a'));
    settleIn(journal, settlement('a'));
    beginIn(journal, begun('b'));
    files.fails.sync = true;
    await journal.sync();
    // Between the two files a crash leaves both: what is in the second is not in the first as well.
    files.fails.sync = false;
    settleIn(journal, settlement('b'));
    await journal.sync();
    expect(readdirSync(dir)).toEqual(['2.open', 'reserve']);
    expect(settledIn(dir)).toEqual(['a', 'b']);
    expect(journal.isNeeded(2)).toBe(false);
    await journal.close();
  });

  test("and fails as a file is closed, is told of, and stands in nobody's way", async () => {
    const files = new FailingFiles(dir);
    const { journal, told } = await opened({ files });
    settleIn(journal, settlement('a'));
    files.fails.close = true;
    expect(await journal.rotate()).toMatchObject([{ number: 1 }]);
    files.fails.close = false;
    expect([told, journal.isSound]).toEqual([['unwritten'], false]);
    settleIn(journal, settlement('b'));
    await journal.sync();
    expect([told, journal.isSound]).toEqual([['unwritten', 'written'], true]);
    expect(await journal.rotate()).toMatchObject([{ number: 2 }]);
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
      beginIn(journal, begun(id));
      settleIn(journal, settlement(id));
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
    settleIn(journal, settlement('a'));
    files.fails.sync = true;
    await journal.sync();
    files.fails.sync = false;
    const drop = vi.spyOn(files, 'drop').mockRejectedValue(new Error('EIO'));
    for (let i = 0; i < 5; i++) await journal.sync();
    expect([readdirSync(dir).sort(), await journal.rotate()]).toEqual([['1.open', '2.open', 'reserve'], []]);
    drop.mockRestore();
    await journal.sync();
    expect([readdirSync(dir), told]).toEqual([
      ['2.open', 'reserve'],
      ['unwritten', 'written'],
    ]);
    expect(await journal.rotate()).toMatchObject([{ number: 2 }]);
    await journal.close();
  });

  test.each([
    ['that is written in place takes requests', true, false],
    ['that may take new blocks for it takes none', false, true],
  ])('of which little is left, %s', async (_, isWrittenInPlace, isShut) => {
    let freeBytes = 65 * mebibyte;
    const { journal, told } = await opened({ volume: () => ({ freeBytes, isWrittenInPlace }) });
    expect(beginIn(journal, begun('a'))).toBe(true);
    freeBytes = 63 * mebibyte;
    await journal.sync();
    expect([beginIn(journal, begun('b')), journal.isShut]).toEqual([!isShut, isShut]);
    // What is written goes to the event store all the same.
    settleIn(journal, settlement('a'));
    expect([journal.isSound, await journal.rotate()]).toMatchObject([true, [{ number: 1 }]]);
    freeBytes = 65 * mebibyte;
    await journal.sync();
    expect([beginIn(journal, begun('c')), told]).toEqual([true, isShut ? ['unwritten', 'written'] : []]);
    await journal.close();
  });

  test('is not written to again before there is room for more than a line', async () => {
    const files = new FailingFiles(dir);
    let freeBytes = 0;
    const { journal, told } = await opened({ files, volume: () => ({ freeBytes, isWrittenInPlace: true }) });
    beginIn(journal, begun('a'));
    files.fails.write = true;
    settleIn(journal, settlement('a'));
    files.fails.write = false;
    // The reserve is to be laid anew.
    for (freeBytes of [0, 4 * mebibyte, reserveSize + 4 * mebibyte - 1]) {
      await journal.sync();
      expect([beginIn(journal, begun('b')), told]).toEqual([false, ['unwritten']]);
    }
    freeBytes = reserveSize + 4 * mebibyte;
    await journal.sync();
    expect([beginIn(journal, begun('b')), told]).toEqual([true, ['unwritten', 'written']]);
    await journal.close();
  });

  test('leaves one of two files that say the same', async () => {
    const { journal } = await opened();
    beginIn(journal, begun('a'));
    settleIn(journal, settlement('a'));
    await journal.close();
    const text = readFileSync(join(dir, '1.open'), 'utf8');
    writeFileSync(join(dir, '2.open'), text);
    const { unsent } = await recover(new JournalFiles(dir));
    expect([unsent, settledIn(dir)]).toEqual([[2], ['a']]);
  });
});

test('whatever happens in whatever order, each request is settled once, and as it has ended', async () => {
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
      /** By request: what it took, where its end has been told. */
      const ended = new Map<string, Settlement['usage_source']>();
      let open: string[] = [];
      let made = 0;
      let isGivenUp = false;
      const restart = async (): Promise<void> => {
        for (const id of open) ended.set(id, 'estimated');
        open = [];
        // What has been told of in this turn is counted at its end.
        await new Promise((resolve) => setImmediate(resolve));
        files = new FailingFiles(own);
        const left = await recover(files);
        expect([left.missing, left.damaged]).toEqual([0, 0]);
        const { settles, sent, unsent } = left;
        at = await opened({ files, first: Math.max(0, ...sent, ...unsent) + 1, unsent: settles });
        for (const each of left.abandoned) settleIn(at.journal, each);
      };
      for (const each of steps) {
        if (each.is === 'begin') {
          const id = `r${made++}`;
          if (beginIn(at.journal, begun(id))) open.push(id);
        } else if (each.is === 'settle' && open.length > 0) {
          const [id] = open.splice(each.which % open.length, 1);
          settleIn(at.journal, settlement(id!));
          ended.set(id!, 'final');
        } else if (each.is === 'rotate') await at.journal.rotate();
        else if (each.is === 'sync') await at.journal.sync();
        else if (each.is === 'bad sync') {
          files.fails.sync = true;
          await at.journal.sync();
          files.fails.sync = false;
          isGivenUp = true;
        } else if (each.is === 'full') files.fails.write = true;
        else if (each.is === 'room') {
          files.fails.write = false;
          await at.journal.sync();
        } else if (each.is === 'crash') {
          // Between a file that was given up and the next there is no place for a line but memory.
          if (isGivenUp && !at.journal.isSound) continue;
          await restart();
        }
        if (at.journal.isSound) isGivenUp = false;
      }
      files.fails.write = false;
      for (let i = 0; i < 3; i++) await at.journal.sync();
      await restart();
      await at.journal.sync();
      const settled = accountsIn(own).map((each) => [each.request_id, each.usage_source] as const);
      expect(settled.toSorted()).toEqual([...ended].toSorted());
      await at.journal.close();
    }),
    { numRuns: 60 },
  );
});
