// Lane: middle: it runs at length
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { lineOf } from '../../src/data/account/journal/entry.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import type { Meter } from '../../src/data/account/meter.ts';
import { settlementsOf } from '../../src/domain/usage/usage-events.ts';
import { type EventStore, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { type OpenUsage, openUsage } from '../../src/usage/usage.ts';
import { noFunds } from '../support/accounts.ts';
import { memoryStore } from '../support/memory-store.ts';
import { unlessGone } from '../support/unless-gone.ts';
import { begin, begun, price, settlement, usage } from './some-request.ts';

/** Of each request there is one account, whatever becomes of the gateway, its store and its disk. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });
const within = { timeout: 15_000 };

let dir: string;
let signals: string[] = [];
let ended = () => {};
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-book-'));
  signals = [];
  ended = onSignal((name, signal) => {
    if (name.startsWith('usage.')) signals.push(`${name} ${(signal as { error?: unknown }).error ?? ''}`);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  ended();
  rmSync(dir, { recursive: true, force: true });
});

type Store = Pick<EventStore, 'append' | 'limitAge'>;
const open = (folder: string, store: Store, everyMs = 5) =>
  openUsage({ dir: folder, store, prices: [price], funds: noFunds, clock: systemClock, everyMs });
const accountsIn = (store: ReturnType<typeof memoryStore>): string[] =>
  store.log.flatMap(({ data }) => settlementsOf(data).map((each) => `${each.request_id} ${each.usage_source}`));
const filesIn = (folder: string, kind: string): string[] => readdirSync(folder).filter((name) => name.endsWith(kind));

/** The files of a folder by name, or undefined where one has gone meanwhile. */
const allOf = (folder: string): Readonly<Record<string, string>> | undefined =>
  unlessGone(() =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
  );

/**
 * Copies a folder as it is at one moment, of which two looks that see the same are the proof. Other threads end what they
 * have been told to do to it; the one that tells them is busy here.
 */
const copyOfNow = (from: string, to: string): void => {
  let [one, other] = [allOf(from), allOf(from)];
  while (one === undefined || !isDeepStrictEqual(one, other)) [one, other] = [other, allOf(from)];
  mkdirSync(to);
  for (const [name, text] of Object.entries(one)) writeFileSync(join(to, name), text);
};

/** The store as one process reaches it, until that ends. */
const reached = (store: ReturnType<typeof memoryStore>) => {
  const process = { isAlive: true };
  const through: Store = {
    async append(...call) {
      if (!process.isAlive) throw new StoreUnavailable('killed');
      return store.append(...call);
    },
    async limitAge(...call) {
      if (!process.isAlive) throw new StoreUnavailable('killed');
      return store.limitAge(...call);
    },
  };
  return { process, through };
};

test('through kills, stops and a store that goes away, while some requests take long', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constant({ is: 'begin' as const }) },
    { weight: 5, arbitrary: fc.record({ is: fc.constant('settle' as const), which: fc.nat(9) }) },
    { weight: 6, arbitrary: fc.record({ is: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 25 }) }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constantFrom('away' as const, 'there' as const) }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constantFrom('kill' as const, 'stop' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 50 }), async (steps) => {
      const root = mkdtempSync(join(dir, 'run-'));
      const store = memoryStore();
      let folder = join(root, '0');
      mkdirSync(folder);
      let at = reached(store);
      let book = await open(folder, at.through);
      const dead: OpenUsage[] = [];
      let flying = new Map<string, Meter>();
      const expected = new Map<string, string>();
      let made = 0;
      const restart = async (next: string): Promise<void> => {
        for (const id of flying.keys()) expected.set(id, `${id} estimated`);
        flying = new Map();
        folder = next;
        at = reached(store);
        book = await open(folder, at.through);
      };
      for (const each of steps) {
        if (each.is === 'begin') {
          const id = `r${made++}`;
          flying.set(id, (await begin(book, id))!);
        } else if (each.is === 'settle' && flying.size > 0) {
          const [id, meter] = [...flying][each.which % flying.size]!;
          meter.complete(usage, 0);
          // The last byte of the answer waits for it.
          await meter.written;
          flying.delete(id);
          expected.set(id, `${id} final`);
        } else if (each.is === 'wait') await sleep(each.ms);
        else if (each.is === 'away') store.available = false;
        else if (each.is === 'there') store.available = true;
        else if (each.is === 'kill') {
          // What the disk has at this moment; the process goes on into the void.
          at.process.isAlive = false;
          const next = join(root, `${Number(folder.slice(root.length + 1)) + 1}`);
          if (existsSync(`${folder}.unsent`)) copyFileSync(`${folder}.unsent`, `${next}.unsent`);
          copyOfNow(folder, next);
          dead.push(book);
          store.available = true;
          await restart(next);
        } else if (each.is === 'stop') {
          await book.close();
          store.available = true;
          await restart(folder);
        }
      }
      store.available = true;
      for (const [id, meter] of flying) {
        meter.complete(usage, 0);
        expected.set(id, `${id} final`);
      }
      await book.close();
      // While files wait the present one is not sent: the next run does that.
      await (await open(folder, store)).close();
      expect(accountsIn(store).sort()).toEqual([...expected.values()].sort());
      expect(filesIn(folder, '.sent')).toEqual([]);
      expect(signals.filter((signal) => signal.startsWith('usage.missing'))).toEqual([]);
      for (const each of dead) await each.close();
    }),
    { numRuns: 60 },
  );
});

describe('a file that is in the store', () => {
  test('stays for those that came after it, which have the settlements of what it saw begin', async () => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    const first = await open(folder, store);
    const [a, , c] = [(await begin(first, 'a'))!, (await begin(first, 'long'))!, (await begin(first, 'c'))!];
    c.complete(usage, 0);
    await expect.poll(() => accountsIn(store), within).toEqual(['c final']);
    a.complete(usage, 0);
    await expect.poll(() => accountsIn(store), within).toEqual(['c final', 'a final']);
    await sleep(100);
    copyOfNow(folder, join(dir, 'after'));
    const second = await open(join(dir, 'after'), store);
    await second.close();
    expect(accountsIn(store)).toEqual(['c final', 'a final', 'long estimated']);
    await first.close();
  });

  test('goes after a while, though a request that it saw begin is in flight', async () => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    const first = await open(folder, store);
    const long = (await begin(first, 'long'))!;
    for (let i = 0; i < 40; i++) {
      (await begin(first, `r${i}`))!.complete(usage, 0);
      await expect.poll(() => accountsIn(store).length, within).toBe(i + 1);
      expect(filesIn(folder, '.sent').length).toBeLessThanOrEqual(11);
    }
    copyOfNow(folder, join(dir, 'after'));
    long.complete(usage, 0);
    await first.close();
    expect(accountsIn(store).filter((each) => each.startsWith('long'))).toEqual(['long final']);
    expect(filesIn(folder, '.sent')).toEqual([]);
    // The same without its end: it was in flight, and nobody else was.
    const again = memoryStore();
    const second = await open(join(dir, 'after'), again);
    await second.close();
    expect(accountsIn(again)).toEqual(['long estimated']);
  });

  test('is known to be where the disk failed behind its new name', async () => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    const real = JournalFiles.prototype.sent;
    let failures = 1;
    vi.spyOn(JournalFiles.prototype, 'sent').mockImplementation(async function (this: JournalFiles, number) {
      await real.call(this, number);
      if (failures-- > 0) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    });
    const book = await open(folder, store);
    (await begin(book, 'a'))!.complete(usage, 0);
    await expect.poll(() => signals.map((each) => each.split(' ')[0]), within).toEqual(['usage.unsent', 'usage.sent']);
    (await begin(book, 'b'))!.complete(usage, 0);
    await expect.poll(() => accountsIn(store), within).toEqual(['a final', 'b final']);
    await book.close();
    expect(readdirSync(folder).filter((name) => !name.endsWith('.open'))).toEqual(['reserve']);
  });

  test('and that the disk does not let go of, keeps nobody from a start', async () => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    mkdirSync(folder);
    writeFileSync(join(folder, '1.sent'), lineOf({ kind: 'settled', settlement: settlement('x') }));
    const real = JournalFiles.prototype.drop;
    let failures = 1;
    vi.spyOn(JournalFiles.prototype, 'drop').mockImplementation(async function (this: JournalFiles, ...call) {
      if (failures-- > 0) throw new Error('EIO');
      return real.apply(this, call);
    });
    const book = await open(folder, store);
    await expect.poll(() => filesIn(folder, '.sent'), within).toEqual([]);
    await book.close();
  });

  test('of the last run goes once what it left open is on the disk, and not before', async () => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    mkdirSync(folder);
    writeFileSync(join(folder, '1.sent'), lineOf({ kind: 'begun', begun: begun('x') }));
    const real = JournalFiles.prototype.begin;
    let isFull = true;
    vi.spyOn(JournalFiles.prototype, 'begin').mockImplementation(async function (this: JournalFiles, number) {
      if (isFull) throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
      return real.call(this, number);
    });
    const first = await open(folder, store);
    expect(existsSync(join(folder, '1.sent'))).toBe(true);
    isFull = false;
    await expect.poll(() => accountsIn(store), within).toEqual(['x estimated']);
    await expect.poll(() => filesIn(folder, '.sent'), within).toEqual([]);
    await first.close();
    // Another comes between, so that the store would not know the second one for the first.
    await (await open(join(dir, 'other'), store)).close();
    const second = await open(folder, store);
    await second.close();
    expect(accountsIn(store)).toEqual(['x estimated']);
  });
});

test.each(['', '{', 'null', '7', '{"0":null}', '{"0":{}}', '{"0":{"stream":"usage-1","expected":"x"}}'])(
  'a note of places that says %j is named, and nothing is sent on a guess',
  async (text) => {
    const store = memoryStore();
    const folder = join(dir, 'journal');
    mkdirSync(folder);
    const entry =
      lineOf({ kind: 'begun', begun: begun('x') }) + lineOf({ kind: 'settled', settlement: settlement('x') });
    writeFileSync(join(folder, '1.open'), entry);
    writeFileSync(join(folder, '1.intents'), text);
    const first = await open(folder, store);
    await expect.poll(() => signals, within).toEqual([expect.stringMatching(/^usage\.unsent .*1\.intents is damaged/)]);
    expect(accountsIn(store)).toEqual([]);
    // Whoever has looked at the log and knows better takes it away.
    rmSync(join(folder, '1.intents'));
    await expect.poll(() => accountsIn(store), within).toEqual(['x final']);
    await first.close();
  },
);
