import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import { settlementsOf } from '../../src/domain/usage/usage-events.ts';
import { onSignal } from '../../src/telemetry.ts';
import { openUsage } from '../../src/usage/usage.ts';
import { noFunds } from '../support/accounts.ts';
import { memoryStore } from '../support/memory-store.ts';
import { begin, price, usage } from './some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });
const within = { timeout: 15_000 };

let dir: string;
let signals: string[] = [];
let ended = () => {};
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-usage-'));
  signals = [];
  ended = onSignal((name) => void (name.startsWith('usage.') && signals.push(name)));
});
afterEach(() => {
  vi.restoreAllMocks();
  ended();
  rmSync(dir, { recursive: true, force: true });
});

const open = (store: ReturnType<typeof memoryStore>) =>
  openUsage({ dir: join(dir, 'journal'), store, prices: [price], funds: noFunds, clock: systemClock, everyMs: 20 });
const settledIn = (store: ReturnType<typeof memoryStore>): string[] =>
  store.log.flatMap(({ data }) =>
    settlementsOf(data).map((each) => `${each.request_id} ${each.micro_dollars} ${each.usage_source}`),
  );
const filesOf = (kind: string): number =>
  readdirSync(join(dir, 'journal')).filter((name) => name.endsWith(kind)).length;

describe('the accounts of requests', () => {
  test('go to the event store by themselves, and from the disk once they are there', async () => {
    const store = memoryStore();
    const book = await open(store);
    const [a, b] = [(await begin(book, 'a'))!, (await begin(book, 'b'))!];
    a.complete(usage, 0);
    await expect.poll(() => settledIn(store), within).toEqual(['a 60 final']);
    // B began in the same file, which is kept for it.
    await expect.poll(() => filesOf('.sent'), within).toBe(1);
    b.end();
    await expect.poll(() => settledIn(store), within).toEqual(['a 60 final', 'b 100 estimated']);
    await expect.poll(() => [filesOf('.sent'), filesOf('.intents'), filesOf('.open')], within).toEqual([0, 0, 1]);
    expect(book.ageMs).toBeLessThan(5_000);
    await book.close();
    expect(signals).toEqual([]);
  });

  test('wait on the disk while the store is away, and are all there when it is back', async () => {
    const store = memoryStore();
    const book = await open(store);
    store.available = false;
    for (let i = 0; i < 50; i++) {
      (await begin(book, `r${i}`))!.complete(usage, 0);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await expect.poll(() => signals, within).toEqual(['usage.unsent']);
    expect(book.whyFull).toBeUndefined();
    store.available = true;
    await expect.poll(() => settledIn(store).length, within).toBe(50);
    await expect.poll(() => signals, within).toEqual(['usage.unsent', 'usage.sent']);
    expect(new Set(settledIn(store)).size).toBe(50);
    await book.close();
  });

  test('are settled at the next start where the gateway has ended in the middle, and sent where it could not', async () => {
    const store = memoryStore();
    store.available = false;
    const first = await open(store);
    (await begin(first, 'a'))!.complete(usage, 0);
    await begin(first, 'b');
    await first.close();
    expect(settledIn(store)).toEqual([]);
    store.available = true;
    // Before it takes a request.
    const second = await open(store);
    expect(settledIn(store)).toEqual(['a 60 final', 'b 100 estimated']);
    expect(signals).toContain('usage.recovered');
    await second.close();
    const third = await open(store);
    await third.close();
    expect(settledIn(store).length).toBe(2);
    expect(existsSync(join(dir, 'journal'))).toBe(true);
  });

  test('do not keep a gateway from its start while the store is away', async () => {
    const store = memoryStore();
    const first = await open(store);
    store.available = false;
    (await begin(first, 'a'))!.complete(usage, 0);
    await first.close();
    signals.length = 0;
    const second = await open(store);
    expect([settledIn(store), signals]).toEqual([[], ['usage.unsent']]);
    store.available = true;
    await expect.poll(() => settledIn(store), within).toEqual(['a 60 final']);
    await second.close();
  });

  test('that the disk does not take are no account: the request is not begun, holds no credit, and the end of the others is told as missing', async () => {
    let isBroken = false;
    for (const name of ['begin', 'openReserve'] as const) {
      const real = JournalFiles.prototype[name] as (number: number) => Promise<FileHandle>;
      vi.spyOn(JournalFiles.prototype, name).mockImplementation(async function (this: JournalFiles, number = 0) {
        return new Proxy(await real.call(this, number), {
          get(file, property) {
            // What cannot be written to is no open file.
            if (property === 'fd' && isBroken) return 1_000_000;
            const value = Reflect.get(file, property, file);
            return typeof value === 'function' ? value.bind(file) : value;
          },
        });
      });
    }
    const store = memoryStore();
    const funds = { needsCredit: () => true, balanceOf: () => 2_200 };
    const folder = join(dir, 'journal');
    const book = await openUsage({ dir: folder, store, prices: [price], funds, clock: systemClock, everyMs: 20 });
    const a = (await begin(book, 'a'))!;
    isBroken = true;
    expect([await begin(book, 'b'), book.whyFull]).toEqual([null, 'there is no room for their accounts on the disk']);
    isBroken = false;
    // Each holds 1,100, and nothing is held of the one that did not begin.
    await expect.poll(() => begin(book, 'c'), within).not.toBeNull();
    expect([book.whyFull, await begin(book, 'd')]).toEqual([undefined, null]);
    isBroken = true;
    a.complete(usage, 0);
    await expect(book.close()).rejects.toThrow(/^The disk has not taken the ends of requests in .*journal, 1 in all\./);
    isBroken = false;
    await (await openUsage({ dir: folder, store, prices: [price], funds, clock: systemClock })).close();
    expect(settledIn(store).sort()).toEqual(['a 100 estimated', 'c 100 estimated']);
  });

  test('of an earlier run are in the spend of the first request', async () => {
    const store = memoryStore();
    const spent = (): number =>
      store.log.flatMap(({ data }) => settlementsOf(data)).reduce((sum, each) => sum + each.micro_dollars, 0);
    // Each request holds 1,100 and is charged 60, or 100 if it is abandoned.
    const limit = {
      id: 'key_1',
      scope: 'key',
      limit: { amount: 1_260, interval: 'total' },
      spenders: ['key_1'],
      spent,
    } as const;
    const folder = join(dir, 'journal');
    const limited = { dir: folder, store, prices: [price], funds: noFunds, clock: systemClock, everyMs: 20 };
    const openLimited = (everyMs: number) => openUsage({ ...limited, everyMs, spend: { limitsOf: () => [limit] } });
    store.available = false;
    const first = await openLimited(60_000);
    (await begin(first, 'a'))!.complete(usage, 0);
    expect(await begin(first, 'b')).not.toBeNull();
    expect(await begin(first, 'c')).toBeNull();
    await first.close();
    store.available = true;
    const second = await openLimited(60_000);
    expect(spent()).toBe(160);
    const d = (await begin(second, 'd'))!;
    expect(await begin(second, 'e')).toBeNull();
    d.complete({ ...usage, input_tokens: 11 }, 0);
    // 1,260 - 160 - 61 are less than a request holds.
    expect(await begin(second, 'f')).toBeNull();
    await second.close();
  });

  test('know the price of every model, and refuse to guess', async () => {
    const book = await open(memoryStore());
    expect(() =>
      book.begin({
        requestId: 'a',
        organizationId: 'o',
        projectId: 'p',
        keyId: 'k',
        line: 'k',
        model: 'other',
        api: 'messages',
        estimatedTokens: 1,
        maxTokens: 1,
        longest: 1,
        images: 0,
        searches: 0,
      }),
    ).toThrow('The model other has no price.');
    await book.close();
  });
});
