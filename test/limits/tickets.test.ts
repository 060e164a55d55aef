import { describe, expect, test } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { inferenceWindows } from '../../src/limits/families.ts';
import { inspect } from '../../src/limits/inspect.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { charge, enlarge, release, settle } from '../../src/limits/settle.ts';
import { sweepTickets } from '../../src/limits/sweep.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject, type Trouble, type WindowStore } from '../../src/limits/window/window-store.ts';

const open = () => {
  const troubles: Trouble[] = [];
  const store = inferenceWindows({ tierOf: () => 0, report: (trouble) => troubles.push(trouble) });
  return { store, troubles, me: limitSubject('k', 'p', 'o') };
};

const used = (store: WindowStore, metric: string, now = 0) =>
  (['key', 'project', 'organization'] as const).map(
    (scope, number) =>
      inspect(store, scope, ['k', 'p', 'o'][number]!, now)?.windows.find((window) => window.metric === metric)?.used,
  );

const endedTwice = { kind: 'ticket_ended_twice', key: 'k', organization: 'o' };

const reserved = (store: WindowStore, me: ReturnType<typeof limitSubject>, tokens: number, now = 0) =>
  reserve(store, start(store, me, now) as Ticket, tokens, now) as Ticket;

describe('a ticket', () => {
  test('holds one request in flight at every scope until it is settled', () => {
    const { store, me } = open();
    const ticket = reserved(store, me, 10);
    expect(used(store, 'concurrent_requests')).toEqual([1, 1, 1]);
    settle(store, ticket, 10);
    expect(used(store, 'concurrent_requests')).toEqual([0, 0, 0]);
    expect(store.tickets.open).toBe(0);
  });

  test('replaces its reservation by what was used, in the bucket of the reservation', () => {
    const { store, me } = open();
    const ticket = reserved(store, me, 5_000, 500);
    expect(used(store, 'tokens_per_minute', 500)).toEqual([5_000, 5_000, 5_000]);
    store.time.set(40_000);
    settle(store, ticket, 1_234);
    expect(used(store, 'tokens_per_minute', 40_000)).toEqual([1_234, 1_234, 1_234]);
    expect(used(store, 'tokens_per_minute', 60_999)).toEqual([1_234, 1_234, 1_234]);
    expect(used(store, 'tokens_per_minute', 61_000)).toEqual([0, 0, 0]);
    expect(used(store, 'tokens_per_day', 61_000)).toEqual([undefined, undefined, 1_234]);
  });

  test('reserves in all scopes or in none, and a refusal frees its slots at once', () => {
    const { store, me } = open();
    settle(store, reserved(store, me, 900_000), 900_000);
    const outcome = reserve(store, start(store, me, 0) as Ticket, 200_000, 0);
    expect(isRefused(outcome)).toBe(true);
    expect(used(store, 'tokens_per_minute')).toEqual([900_000, 900_000, 900_000]);
    expect(used(store, 'concurrent_requests')).toEqual([0, 0, 0]);
  });

  test('takes no more than it can give back, whatever it is asked for', () => {
    const store = inferenceWindows({ tierOf: () => 5 });
    const me = limitSubject('k', 'p', 'o');
    for (const tokens of [2 ** 31, 5e12, Number.POSITIVE_INFINITY, Number.NaN]) {
      const ticket = reserve(store, start(store, me, 0) as Ticket, tokens, 0) as Ticket;
      expect(used(store, 'tokens_per_day')[2]).toBe(2 ** 31 - 1);
      settle(store, ticket, 0);
      expect(used(store, 'tokens_per_day')[2]).toBe(0);
    }
  });

  test('that is released gives its reservation back, as a 402 has to', () => {
    const { store, me } = open();
    release(store, reserved(store, me, 5_000));
    expect(used(store, 'tokens_per_minute')).toEqual([0, 0, 0]);
    expect(used(store, 'tokens_per_day')[2]).toBe(0);
    expect(used(store, 'concurrent_requests')).toEqual([0, 0, 0]);
  });

  test('that has ended stays ended, even when its place is in use again', () => {
    const { store, troubles, me } = open();
    const ticket = reserved(store, me, 100);
    settle(store, ticket, 50);
    const next = reserved(store, me, 70);
    settle(store, ticket, 9_999);
    release(store, ticket);
    expect(troubles).toEqual([endedTwice, endedTwice]);
    expect(used(store, 'tokens_per_minute')).toEqual([120, 120, 120]);
    expect(used(store, 'concurrent_requests')).toEqual([1, 1, 1]);
    settle(store, next, 70);
    expect(() => reserve(store, ticket as Ticket, 1, 0)).toThrow(TypeError);
  });

  test('that never reserved anything settles no tokens, and says so', () => {
    const { store, troubles, me } = open();
    const ticket = start(store, me, 0) as Ticket;
    settle(store, ticket as Ticket, 10);
    expect(troubles).toEqual([{ kind: 'settled_unreserved', key: 'k', organization: 'o', tokens: 10 }]);
    expect(used(store, 'tokens_per_minute')).toEqual([0, 0, 0]);
    expect(used(store, 'concurrent_requests')).toEqual([0, 0, 0]);
  });

  test.each([
    [Number.NaN, 100],
    [-5, 0],
    [0.2, 1],
    [1e308, 0x7fff_ffff],
    [Number.POSITIVE_INFINITY, 0x7fff_ffff],
  ])('settled with %s tokens counts %s', (tokens, counts) => {
    const { store, me } = open();
    settle(store, reserved(store, me, 100), tokens);
    expect(used(store, 'tokens_per_minute')).toEqual([counts, counts, counts]);
    // Another request of the same second, if one gets through, leaves no less than what is there.
    expect(used(store, 'tokens_per_minute', 61_000)).toEqual([0, 0, 0]);
  });

  test('is enlarged whatever the windows hold, up to each limit, and never made smaller', () => {
    const { store, troubles, me } = open();
    const ticket = reserved(store, me, 100);
    for (const [tokens, counts, more = counts] of [
      [101, 101],
      [100, 101],
      [200.1, 201],
      [Number.NaN, 201],
      [1_000_000, 1_000_000],
      // Above what one key may have; project and organization may have more.
      [1_000_001, 1_000_000, 1_000_001],
    ] as const) {
      enlarge(store, ticket, tokens);
      expect(used(store, 'tokens_per_minute')).toEqual([counts, more, more]);
    }
    charge(store, ticket, 30);
    enlarge(store, ticket, 500);
    expect(used(store, 'tokens_per_minute')).toEqual([30, 30, 30]);
    settle(store, ticket, 30);
    expect(troubles).toEqual([]);
    enlarge(store, ticket, 500);
    expect(troubles).toEqual([endedTwice]);
  });

  test('is charged what was used before the answer is sent, and stays in flight until that', () => {
    const { store, troubles, me } = open();
    const ticket = reserved(store, me, 100);
    charge(store, ticket, Number.NaN);
    expect(used(store, 'tokens_per_minute')).toEqual([100, 100, 100]);
    for (const [tokens, counts] of [
      [40.2, 41],
      [-5, 0],
      [30, 30],
    ] as const) {
      charge(store, ticket, tokens);
      expect(used(store, 'tokens_per_minute')).toEqual([counts, counts, counts]);
      expect(used(store, 'tokens_per_day')[2]).toBe(counts);
      expect(used(store, 'concurrent_requests')).toEqual([1, 1, 1]);
    }
    settle(store, ticket, 30);
    expect(used(store, 'concurrent_requests')).toEqual([0, 0, 0]);
    expect(troubles).toEqual([]);
    charge(store, ticket, 9_999);
    expect(troubles).toEqual([endedTwice]);
    expect(used(store, 'tokens_per_minute')).toEqual([30, 30, 30]);
  });

  test('that outlives the longest request is ended by the sweep, reported, and late to everything after', () => {
    const { store, troubles, me } = open();
    const forgotten = reserved(store, me, 300, 0);
    const young = reserved(store, me, 20, 30_000);
    expect(sweepTickets(store, 50_000, 50_000)).toBe(0);
    expect(sweepTickets(store, 50_000, 51_000)).toBe(1);
    expect(troubles).toEqual([{ kind: 'ticket_forgotten', key: 'k', organization: 'o', ageMs: 51_000 }]);
    expect(used(store, 'concurrent_requests', 51_000)).toEqual([1, 1, 1]);
    // The reservation ages out.
    expect(used(store, 'tokens_per_minute', 51_000)).toEqual([320, 320, 320]);
    expect(used(store, 'tokens_per_minute', 61_000)).toEqual([20, 20, 20]);
    settle(store, forgotten, 1);
    expect(troubles.at(-1)).toEqual(endedTwice);
    settle(store, young, 20);
    expect(used(store, 'concurrent_requests', 61_000)).toEqual([0, 0, 0]);
  });

  test('is one of thousands as well as of a few', () => {
    const { store } = open();
    const tickets = Array.from(
      { length: 3_000 },
      (_, n) => start(store, limitSubject(`k${n}`, `p${n}`, `o${n}`), 0) as Ticket,
    );
    expect(new Set(tickets).size).toBe(3_000);
    for (const ticket of tickets) release(store, ticket);
    expect(store.tickets.open).toBe(0);
    expect(store.tickets.startedBefore(Number.MAX_SAFE_INTEGER)).toBeNull();
  });
});
