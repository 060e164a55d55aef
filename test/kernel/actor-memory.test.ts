import { describe, expect, test } from 'vitest';
import { CorruptStream } from '../../src/kernel/aggregate/fold.ts';
import { actors } from '../../src/kernel/commands/actor.ts';
import { type EventStore, type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { foreign, me, opened, refusal, stage, stream } from './stage.ts';
import { ticket } from './ticket.ts';

describe('memory', () => {
  test('spares the read while an actor is live', async () => {
    const { tickets, reads } = await opened();
    await tickets.dispatch('tic_1', 'work', { hours: [1] }, me);
    await tickets.dispatch('tic_1', 'work', { hours: [1] }, me);
    expect(reads).toEqual([0]);
  });

  test('of an idle actor is given up after its time', async () => {
    let now = 0;
    const clock = { wall: () => 0, monotonic: () => now };
    const { tickets, reads } = await opened({}, { clock, idleMs: 1000 });
    now = 999;
    await tickets.dispatch('tic_1', 'work', { hours: [1] }, me);
    now = 2000;
    await tickets.dispatch('tic_2', 'open', { title: 'b' }, me);
    expect((await tickets.dispatch('tic_1', 'work', { hours: [1] }, me)).state.data.hours).toBe(2);
    expect(reads).toEqual([0, 0, 0]);
  });

  test('is bounded: the longest idle actor goes first', async () => {
    const { tickets, reads } = stage({}, { maxLive: 2 });
    for (const id of ['tic_1', 'tic_2', 'tic_1', 'tic_3'])
      await tickets.dispatch(id, 'top', { upTo: 0 }, me).catch(() => {});
    reads.length = 0;
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
    expect(reads).toEqual([]);
    await tickets.dispatch('tic_2', 'open', { title: 'a' }, me);
    expect(reads).toEqual([0]);
  });

  test('of an actor at work is kept beyond every bound', async () => {
    const { tickets, store } = stage({}, { maxLive: 0, idleMs: 0 });
    const tells = ['open', 'park', 'resume', 'close'].map((command) =>
      tickets.dispatch('tic_1', command as 'open', { title: 'a' }, me),
    );
    expect((await Promise.all(tells)).map(({ revision }) => revision)).toEqual([0, 1, 2, 3]);
    expect(store.log).toHaveLength(4);
  });

  test('of the line in front is limited: a command that waited too long is not tried', async () => {
    let now = 0;
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const delay = () => {
      begin();
      return held;
    };
    const { tickets, store } = stage({ delay }, { clock: { wall: () => 0, monotonic: () => now } });
    const first = tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
    const second = refusal(tickets.dispatch('tic_1', 'park', undefined, me));
    await begun;
    now = 5_000;
    answer();
    expect((await first).revision).toBe(0);
    expect(await second).toBeInstanceOf(StoreUnavailable);
    expect(store.log).toHaveLength(1);
  });
});

describe('an older copy of the log in its place', () => {
  /** Actors that remember a ticket as parked, over a store that holds its beginning alone. */
  const swapped = async () => {
    const [first, second] = [memoryStore(), memoryStore()];
    let now = first;
    const store = new Proxy(first, { get: (_, name) => Reflect.get(now, name) }) as EventStore;
    const tickets = actors(ticket, { store });
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
    await tickets.dispatch('tic_1', 'park', undefined, me);
    second.plant(stream, [foreign({ type: 'ticket.opened', title: 'a' })]);
    now = second;
    return { tickets, second };
  };

  test('is found by the next command that changes something, which is decided on what is there', async () => {
    const { tickets, second } = await swapped();
    const { revision } = await tickets.dispatch('tic_1', 'resume', undefined, me).catch(() => ({ revision: null }));
    expect(revision).toBeNull();
    expect((await tickets.dispatch('tic_1', 'park', undefined, me)).revision).toBe(1);
    expect(second.log.map(({ type }) => type)).toEqual(['ticket.opened', 'ticket.parked']);
  });

  test('is what everybody decides on from the moment at which they are told', async () => {
    const { tickets, second } = await swapped();
    tickets.forget();
    expect((await tickets.dispatch('tic_1', 'park', undefined, me)).revision).toBe(1);
    expect(second.log).toHaveLength(2);
  });
});

describe('corruption', () => {
  test.each([
    ['an event nobody knows', { type: 'ticket.burned' }],
    ['an event the chart does not admit here', { type: 'ticket.resumed' }],
    ['a second beginning', { type: 'ticket.opened', title: 'b' }],
  ])('%s is named and never skipped', async (_, event) => {
    const { tickets, store } = stage();
    store.plant(stream, [
      foreign({ type: 'ticket.opened', title: 'a' }),
      foreign(event),
      foreign({ type: 'ticket.parked' }),
    ]);
    const error = await refusal(tickets.dispatch('tic_1', 'work', { hours: [1] }, me));
    expect(error).toBeInstanceOf(CorruptStream);
    expect(error).toMatchObject({ stream, revision: 1, type: event.type });
    expect(await refusal(tickets.dispatch('tic_1', 'work', { hours: [1] }, me))).toBeInstanceOf(CorruptStream);
    expect(store.log).toHaveLength(3);
  });

  test('a revision that is missing is named', async () => {
    const store = memoryStore();
    // Without the one in the middle the rest would still be admitted.
    const worked = [1, 2].map((hours) => foreign({ type: 'ticket.worked', hours }));
    store.plant(stream, [foreign({ type: 'ticket.opened', title: 'a' }), ...worked]);
    const lossy: EventStore = {
      ...store,
      async *read(name, range): AsyncGenerator<Recorded> {
        for await (const recorded of store.read(name, range)) if (recorded.revision !== 1) yield recorded;
      },
    };
    const error = await refusal(actors(ticket, { store: lossy }).dispatch('tic_1', 'park', undefined, me));
    expect(error).toMatchObject({ name: 'CorruptStream', revision: 1, type: 'ticket.worked' });
  });

  test('written by another while the actor lives is found all the same', async () => {
    const { tickets, store } = await opened();
    store.plant(stream, [foreign({ type: 'ticket.burned' })]);
    expect(await refusal(tickets.dispatch('tic_1', 'park', undefined, me))).toBeInstanceOf(CorruptStream);
  });
});
