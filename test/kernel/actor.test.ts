import { describe, expect, test } from 'vitest';
import { IllegalEvent } from '../../src/kernel/aggregate/aggregate.ts';
import { chained } from '../../src/kernel/aggregate/chained.ts';
import { actors, type Context } from '../../src/kernel/commands/actor.ts';
import { hashOf } from '../../src/kernel/store/event-hash.ts';
import { StoreUnavailable, WrongRevision } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { type Fault, type MemoryOptions, memoryStore } from '../support/memory-store.ts';
import { foreign, me, opened, refusal, stage, stream } from './stage.ts';
import { TooMuch, ticket } from './ticket.ts';

/** Faults for the appends to come, in order; none after that. */
const inOrder = (...faults: Fault[]): MemoryOptions => ({ fault: () => faults.shift() ?? 'none' });

describe('dispatch', () => {
  test('records the events and answers where they left the stream', async () => {
    const { tickets, store } = stage();
    const first = await tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
    const second = await tickets.dispatch('tic_1', 'work', { hours: [1, 2] }, me);
    expect(first).toMatchObject({ revision: 0, events: [{ type: 'ticket.opened', title: 'a' }] });
    expect(second).toMatchObject({ revision: 2, state: { status: 'open', data: { title: 'a', hours: 3 } } });
    expect(second.position).toBe(store.log.at(-1)?.position);
    expect(store.log.map(({ stream, revision, type, data }) => ({ stream, revision, type, data }))).toEqual([
      { stream, revision: 0, type: 'ticket.opened', data: { title: 'a' } },
      { stream, revision: 1, type: 'ticket.worked', data: { hours: 1 } },
      { stream, revision: 2, type: 'ticket.worked', data: { hours: 2 } },
    ]);
  });

  test('answers with position null where nothing was decided', async () => {
    const { tickets, store } = await opened();
    const told = await tickets.dispatch('tic_1', 'work', { hours: [] }, me);
    expect(told).toMatchObject({ revision: 0, position: null, events: [], state: { status: 'open' } });
    expect(await tickets.dispatch('tic_2', 'work', { hours: [] }, me)).toMatchObject({
      revision: null,
      position: null,
    });
    expect(store.log).toHaveLength(1);
  });

  test('writes who, when, why and how into the metadata, and no more', async () => {
    const { tickets, store } = stage({}, { clock: { wall: () => 1234, monotonic: () => 0 } });
    const context: Context = {
      actor: { type: 'api_key', id: 'key_1' },
      requestId: 'req_1',
      ip: '192.0.2.1',
      userAgent: 'curl',
      commandId: 'cmd_1',
      causationId: 'evt_1',
      correlationId: 'flow_1',
    };
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, context);
    await tickets.dispatch('tic_1', 'park', undefined, {
      actor: context.actor,
      requestId: 'req_2',
      commandId: 'cmd_2',
    });
    expect(store.log.map(({ metadata }) => metadata)).toEqual([
      {
        at: 1234,
        actor: { type: 'api_key', id: 'key_1' },
        request_id: 'req_1',
        ip: '192.0.2.1',
        user_agent: 'curl',
        $correlationId: 'flow_1',
        $causationId: 'evt_1',
        v: 3,
      },
      {
        at: 1234,
        actor: context.actor,
        request_id: 'req_2',
        $correlationId: 'req_2',
        $causationId: 'cmd_2',
        v: 3,
        prev: hashOf(store.log[0]!),
      },
    ]);
  });

  test('says what was recorded, once', async () => {
    const signals: unknown[] = [];
    const stop = onSignal((name, signal) => signals.push([name, signal]));
    const { tickets } = stage();
    const context = { ...me, requestId: 'req_1', commandId: 'c' };
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, context);
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, context);
    stop();
    expect(signals).toEqual([
      ['command.recorded', { requestId: 'req_1', stream, revision: 0, events: ['ticket.opened'] }],
    ]);
  });

  test.each(['', 'a-b', 'ä', 'a b', 'a\n'])('refuses %j as an id', async (id) => {
    const { tickets, store } = stage();
    expect(await refusal(tickets.dispatch(id, 'open', { title: 'a' }, me))).toBeInstanceOf(TypeError);
    expect(store.log).toEqual([]);
  });

  test('lets refusals of the chart and of the decision through as they are', async () => {
    const { tickets, store } = await opened();
    expect(await refusal(tickets.dispatch('tic_1', 'open', { title: 'b' }, me))).toBeInstanceOf(IllegalEvent);
    expect(await refusal(tickets.dispatch('tic_1', 'work', { hours: [1_000_001] }, me))).toBeInstanceOf(TooMuch);
    expect((await tickets.dispatch('tic_1', 'park', undefined, me)).revision).toBe(1);
    expect(store.log).toHaveLength(2);
  });
});

describe('other writers', () => {
  test('are found out at the append, and the command is decided anew on what they left', async () => {
    const { tickets, store } = await opened(inOrder('none', { rival: [foreign({ type: 'ticket.worked', hours: 4 })] }));
    const told = await tickets.dispatch('tic_1', 'top', { upTo: 10 }, me);
    expect(told).toMatchObject({ revision: 2, events: [{ hours: 6 }], state: { data: { hours: 10 } } });
    expect(store.log).toHaveLength(3);
  });

  test('are looked for before a command is refused', async () => {
    const { tickets, store } = await opened();
    await tickets.dispatch('tic_1', 'park', undefined, me);
    store.plant(stream, [foreign({ type: 'ticket.resumed' })]);
    expect((await tickets.dispatch('tic_1', 'work', { hours: [1] }, me)).revision).toBe(3);
  });

  test('are looked for before a command is answered without events', async () => {
    const { tickets, store } = await opened();
    store.plant(stream, [foreign({ type: 'ticket.worked', hours: 4 })]);
    expect(await tickets.dispatch('tic_1', 'top', { upTo: 0 }, me)).toMatchObject({ revision: 1, position: null });
    store.plant(stream, [foreign({ type: 'ticket.parked' })]);
    expect(await refusal(tickets.dispatch('tic_1', 'top', { upTo: 9 }, me))).toMatchObject({ status: 'parked' });
  });

  test('are passed over where they are not ours, and yet they are the end of the stream', async () => {
    const { tickets, store } = await opened(
      {},
      { whose: ({ type }) => (type === 'ticket.worked' ? 'like-ours' : 'ours') },
    );
    const end = { revision: 1, last: store.log[0]! };
    store.plantAsIs(stream, [foreign({ type: 'ticket.worked', hours: 4 })]);
    store.plantAsIs(stream, chained(stream, end, [foreign({ type: 'ticket.parked' })]));
    store.plantAsIs(stream, [foreign({ type: 'ticket.worked', hours: 9 })]);
    const told = await tickets.dispatch('tic_1', 'resume', undefined, me);
    expect(told).toMatchObject({ revision: 4, state: { status: 'open', data: { hours: 0 } } });
  });

  test('include who restores an older log beneath: what is remembered of the one before is forgotten', async () => {
    const [before, older] = [memoryStore(), memoryStore()];
    let log = before;
    const tickets = actors(ticket, {
      store: { ...before, append: (...call) => log.append(...call), read: (...call) => log.read(...call) },
    });
    await tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
    await tickets.dispatch('tic_1', 'work', { hours: [1, 2] }, me);
    await actors(ticket, { store: older }).dispatch('tic_1', 'open', { title: 'a' }, me);
    log = older;
    const told = await tickets.dispatch('tic_1', 'work', { hours: [4] }, me);
    expect(told).toMatchObject({ revision: 1, state: { data: { hours: 4 } } });
  });

  test('end the patience after eight attempts', async () => {
    let rivals = 0;
    const rival = (): Fault => ({ rival: [foreign({ type: 'ticket.worked', hours: ++rivals })] });
    let isRival = false;
    const { tickets } = await opened({ fault: () => (isRival ? rival() : 'none') });
    isRival = true;
    expect(await refusal(tickets.dispatch('tic_1', 'work', { hours: [1] }, me))).toBeInstanceOf(WrongRevision);
    expect(rivals).toBe(8);
    isRival = false;
    expect((await tickets.dispatch('tic_1', 'work', { hours: [1] }, me)).revision).toBe(9);
  });
});

describe('an outcome that is unknown', () => {
  test.each<Fault>(['lost', 'answer-lost', 'late'])(
    'is told, and the next command starts from the stream: %j',
    async (fault) => {
      const { tickets, store, reads } = await opened(inOrder('none', fault));
      expect(await refusal(tickets.dispatch('tic_1', 'work', { hours: [5] }, me))).toBeInstanceOf(StoreUnavailable);
      const readsBefore = reads.length;
      const told = await tickets.dispatch('tic_1', 'top', { upTo: 20 }, me);
      expect(reads.slice(readsBefore)[0]).toBe(0);
      expect(told.state.data.hours).toBe(20);
      expect(store.log.filter(({ data }) => data.hours === 5)).toHaveLength(fault === 'lost' ? 0 : 1);
    },
  );

  test('called a conflict although the events are there is a success', async () => {
    const { tickets, store } = await opened(inOrder('none', 'conflict-after-landing'));
    const told = await tickets.dispatch('tic_1', 'work', { hours: [5, 6] }, me);
    expect(told).toMatchObject({
      revision: 2,
      position: store.log.at(-1)?.position,
      events: [{ hours: 5 }, { hours: 6 }],
    });
    expect(store.log).toHaveLength(3);
  });

  test('of a command that is sent again leads to one set of events and the same answer', async () => {
    const { tickets, store } = await opened(inOrder('none', 'answer-lost'));
    const context = { ...me, commandId: 'cmd_9' };
    expect(await refusal(tickets.dispatch('tic_1', 'work', { hours: [5, 6] }, context))).toBeInstanceOf(
      StoreUnavailable,
    );
    const place = store.log.at(-1)?.position;
    await tickets.dispatch('tic_1', 'park', undefined, me);
    const again = await tickets.dispatch('tic_1', 'work', { hours: [5, 6] }, context);
    expect(again).toMatchObject({ position: place, revision: 3, state: { status: 'parked', data: { hours: 11 } } });
    expect(store.log).toHaveLength(4);
  });

  test('is no excuse for other data under the same command', async () => {
    const { tickets, store } = await opened();
    const context = { ...me, commandId: 'cmd_9' };
    await tickets.dispatch('tic_1', 'work', { hours: [5] }, context);
    await tickets.dispatch('tic_1', 'work', { hours: [6] }, context);
    expect(store.log.map(({ data }) => data.hours)).toEqual([undefined, 5, 6]);
    expect(new Set(store.log.map(({ id }) => id)).size).toBe(3);
  });
});
