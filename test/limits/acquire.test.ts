import { describe, expect, test } from 'vitest';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { creditWindows, inferenceWindows } from '../../src/limits/families.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { settle } from '../../src/limits/settle.ts';
import { RecordSweep } from '../../src/limits/sweep.ts';
import { freeIfEmpty } from '../../src/limits/window/records.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, type WindowStore } from '../../src/limits/window/window-store.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const ids = ['k', 'p', 'o'] as const;

const sweepAll = (store: WindowStore, now: number): void => {
  new RecordSweep(store).sweep(now, 1_000);
};
const inference = () => ({ store: inferenceWindows({ tierOf: () => 0 }), me: limitSubject('k', 'p', 'o') });
const taken = (store: WindowStore, me: ReturnType<typeof limitSubject>, tokens: number, now: number) =>
  reserve(store, start(store, me, now) as Ticket, tokens, now) as Ticket;

/** Whether the record of this scope is freed at this time, looked at alone. */
const frees = (store: WindowStore, scope: number, now: number): boolean => {
  store.time.set(now);
  const record = store.find(scope, ids[scope]!)!;
  record.advance(store.time);
  const freed = freeIfEmpty(store, record);
  expect(store.find(scope, ids[scope]!)).toBe(freed ? undefined : record);
  expect(record.freed).toBe(freed);
  return freed;
};

describe('a record is kept', () => {
  test('while a request is in flight, however long ago it began', () => {
    const { store, me } = inference();
    const ticket = taken(store, me, 0, 0);
    expect(frees(store, 0, 3 * day)).toBe(false);
    settle(store, ticket, 0);
    expect(frees(store, 0, 3 * day)).toBe(true);
  });

  test('for its requests of the day', () => {
    const { store, me } = inference();
    settle(store, taken(store, me, 0, 0), 0);
    expect(frees(store, 0, 2 * minute)).toBe(false);
    expect(frees(store, 0, day - 1)).toBe(false);
    expect(frees(store, 0, day + 10 * minute)).toBe(true);
  });

  test('for its attempts of the last minute, where only those are counted, to the millisecond', () => {
    const store = creditWindows();
    countRequest(store, limitSubject('k', null, 'o'), 0);
    expect([frees(store, 0, minute - 1), frees(store, 0, minute)]).toEqual([false, true]);
  });

  test('for tokens of the last minute and of the day, although its requests have aged out', () => {
    const { store, me } = inference();
    const ticket = start(store, me, 0) as Ticket;
    // Reserved a day after its attempt: the tokens are all that is left.
    const late = day + 30 * minute;
    settle(store, reserve(store, ticket, 10, late) as Ticket, 10);
    expect(frees(store, 0, late + minute)).toBe(false);
    expect(frees(store, 0, late + minute + 1_000)).toBe(true);
    expect(frees(store, 1, late + minute + 1_000)).toBe(true);
    expect(frees(store, 2, late + hour)).toBe(false);
    expect(frees(store, 2, late + day + 10 * minute)).toBe(true);
  });

  test('while another record names it: a project goes after its keys, an organization after both', () => {
    const { store, me } = inference();
    settle(store, taken(store, me, 0, 0), 0);
    settle(store, taken(store, limitSubject('k2', 'p', 'o'), 0, 0), 0);
    const late = 2 * day;
    expect([frees(store, 2, late), frees(store, 1, late)]).toEqual([false, false]);
    expect(frees(store, 0, late)).toBe(true);
    expect(frees(store, 1, late)).toBe(false);
    sweepAll(store, late);
    expect(store.size).toBe(0);
  });
});

test('what is freed is used again, empty, by whoever comes next', () => {
  const { store, me } = inference();
  for (let n = 0; n < 60; n++) settle(store, taken(store, me, 1_000, 0), 1_000);
  const bytes = store.slab.bytes;
  const late = 2 * day;
  sweepAll(store, late);
  expect(store.size).toBe(0);
  for (let n = 0; n < 60; n++)
    settle(store, taken(store, limitSubject('other', 'elsewhere', 'theirs'), 1_000, late), 1_000);
  expect(isRefused(start(store, limitSubject('other', 'elsewhere', 'theirs'), late))).toBe(true);
  expect(store.slab.bytes).toBe(bytes);
  expect(isRefused(start(store, me, late))).toBe(false);
  expect(store.slab.bytes).toBeGreaterThan(bytes);
});

test('of a thousand organizations that come and go every other day, none takes more memory than the first', () => {
  const { store } = inference();
  let bytes = 0;
  for (let n = 0; n < 1_000; n++) {
    const now = n * 2 * day;
    sweepAll(store, now);
    settle(store, taken(store, limitSubject(`k${n}`, `p${n}`, `o${n}`), 1, now), 1);
    expect(store.size).toBe(3);
    bytes ||= store.slab.bytes;
  }
  expect(store.slab.bytes).toBe(bytes);
});

test('a key of a family with projects has to name its own', () => {
  const { store } = inference();
  expect(() => start(store, limitSubject('k', null, 'o'), 0)).toThrow('A key is counted with its project.');
});
