import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { settlementsOf } from '../../src/domain/usage/usage-events.ts';
import { onSignal } from '../../src/telemetry.ts';
import { openUsage } from '../../src/usage/usage.ts';
import { noFunds } from '../support/accounts.ts';
import { memoryStore } from '../support/memory-store.ts';
import { begin, price, usage } from './some-request.ts';

/** A journal that is not what it was: how many requests are charged to nobody is said at the start, where anything still knows. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let root: string;
let missing: (number | string)[] = [];
let ended = () => {};
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weir-missing-'));
  missing = [];
  ended = onSignal((name, signal) => {
    if (name === 'usage.missing') missing.push((signal as { requests: number | string }).requests);
  });
});
afterEach(() => {
  ended();
  rmSync(root, { recursive: true, force: true });
});

const open = (
  folder: string,
  store: ReturnType<typeof memoryStore>,
  more: { isGone?: boolean; everyMs?: number } = {},
) =>
  openUsage({
    dir: join(root, folder, 'journal'),
    store,
    prices: [price],
    funds: noFunds,
    clock: systemClock,
    everyMs: 3_600_000,
    ...more,
  });
const chargedIn = (store: ReturnType<typeof memoryStore>): string[] =>
  store.log.flatMap(({ data }) => settlementsOf(data).map((each) => each.request_id));

/** Ten requests that have ended and three in flight, as a kill leaves them; four more are in the event store. */
const killed = async (): Promise<ReturnType<typeof memoryStore>> => {
  const store = memoryStore();
  const first = await open('live', store);
  for (const id of ['s1', 's2', 's3', 's4']) (await begin(first, id))!.complete(usage, 0);
  await first.close();
  const book = await open('live', store);
  for (let i = 0; i < 10; i++) (await begin(book, `r${i}`))!.complete(usage, 0);
  for (let i = 0; i < 3; i++) await begin(book, `f${i}`);
  // What has begun in this turn is counted at its end.
  await new Promise((resolve) => setImmediate(resolve));
  cpSync(join(root, 'live'), join(root, 'left'), { recursive: true });
  store.available = false;
  await book.close();
  store.available = true;
  expect(chargedIn(store)).toEqual(['s1', 's2', 's3', 's4']);
  return store;
};

const journal = (): string => join(root, 'left', 'journal');
/** Those of the killed run that say anything. */
const files = (): string[] =>
  readdirSync(journal())
    .filter((name) => name.endsWith('.open'))
    .map((name) => join(journal(), name))
    .filter((path) => readFileSync(path).length > 0);
const each = (damage: (path: string) => void) => () => {
  expect(files()).toHaveLength(1);
  files().forEach(damage);
};
const lines = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
const tally = (): string => join(root, 'left', 'journal.unsent');

describe('a journal', () => {
  test.each([
    ['that is whole', () => {}, 0, 13],
    ['that is empty', each((path) => truncateSync(path, 0)), 13, 0],
    ['that is gone', each((path) => rmSync(path)), 13, 0],
    ['that is gone with its folder', () => rmSync(journal(), { recursive: true }), 13, 0],
    ['that is zeros', each((path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length))), 13, 0],
    // Six lines of three requests, and the begin of one more, which is settled by it.
    ['that is cut', each((path) => writeFileSync(path, `${lines(path).slice(0, 7).join('\n')}\nhalf a`)), 9, 4],
    [
      'with zeros in its middle',
      each((path) => {
        const all = lines(path);
        const zeros = '\0'.repeat(all.slice(3, 9).join('\n').length);
        writeFileSync(path, `${[...all.slice(0, 3), zeros, ...all.slice(9)].join('\n')}\n`);
      }),
      // The second is settled by its begin, and the fifth by its end.
      2,
      11,
    ],
  ])('%s: what is missing is counted, and what is left is charged', async (_, damage, requests, charged) => {
    const store = await killed();
    damage();
    await (await open('left', store)).close();
    expect(missing).toEqual(requests === 0 ? [] : [requests]);
    expect(chargedIn(store)).toHaveLength(4 + charged);
    // Told once.
    await (await open('left', store)).close();
    expect(missing).toHaveLength(requests === 0 ? 0 : 1);
  });

  test.each([
    ['empty', () => truncateSync(tally(), 0)],
    ['zeros', () => writeFileSync(tally(), Buffer.alloc(26))],
    ['cut', () => truncateSync(tally(), 12)],
  ])('whose count is %s may lack some, which is said, and is charged as far as it goes', async (_, damage) => {
    const store = await killed();
    damage();
    await (await open('left', store)).close();
    expect([missing, chargedIn(store).length]).toEqual([['unknown'], 4 + 13]);
    await (await open('left', store)).close();
    expect(missing).toHaveLength(1);
  });

  test('that is gone with its count may lack some, where the gateway has had one', async () => {
    const store = memoryStore();
    await (await open('new', store)).close();
    expect(missing).toEqual([]);
    await (await open('other', store, { isGone: true })).close();
    expect(missing).toEqual(['unknown']);
  });

  test('of the version before, which has no count, lacks nothing that anybody knows of', async () => {
    const store = await killed();
    rmSync(tally());
    rmSync(join(journal(), 'reserve'));
    await (await open('left', store)).close();
    expect([missing, chargedIn(store).length]).toEqual([[], 4 + 13]);
  });

  test('lacks nothing when the store has been away, or is gone in good order', async () => {
    const store = await killed();
    store.available = false;
    const away = await open('left', store, { everyMs: 5 });
    (await begin(away, 'late'))!.complete(usage, 0);
    await begin(away, 'flying');
    await away.close();
    await (await open('left', store)).close();
    store.available = true;
    await (await open('left', store)).close();
    await (await open('left', store)).close();
    expect([missing, new Set(chargedIn(store)).size, chargedIn(store).length]).toEqual([[], 4 + 15, 4 + 15]);
  });
});
