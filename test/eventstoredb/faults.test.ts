import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { type EventStore, StoreUnavailable, StreamDeleted, WrongRevision } from '../../src/kernel/store/store.ts';
import { collect, event } from '../support/events.ts';
import { clientError, fakeClient, storeOfClient } from '../support/fake-client.ts';

const quick: ConnectOptions = { callMs: 20, totalMs: 10_000, retryMs: [1, 2], resubscribeMs: [1, 2] };
const lost = clientError('14 UNAVAILABLE: read ECONNRESET', { code: 14 });

const stage = (options: ConnectOptions = {}) => {
  const fake = fakeClient();
  return Object.assign(fake, { store: storeOfClient(fake.client, { ...quick, ...options }) });
};

afterEach(() => void vi.useRealTimers());

describe('append', () => {
  test('repeats the same events at the same revision until the outcome is known', async () => {
    const { store, appends, answers } = stage();
    answers.push(lost, 'silence', clientError('Server Is Not Ready', { type: 'unknown' }), {
      revision: 5n,
      position: 9n,
    });
    const events = [event(1), event(2)];
    expect(await store.append('a-1', events, 3)).toEqual({ revision: 5, position: 9n });
    const ids = events.map(({ id }) => id);
    expect(appends).toEqual(Array.from({ length: 4 }, () => ({ stream: 'a-1', ids, expected: 3n })));
  });

  test('that is made once is not repeated after a loss', async () => {
    const { store, appends, answers } = stage();
    answers.push(lost);
    await expect(store.append('a-1', [event(1)], 3, { once: true })).rejects.toThrow(StoreUnavailable);
    expect(appends).toHaveLength(1);
  });

  test('asks for a stream that is not there by its name', async () => {
    const { store, appends } = stage();
    await store.append('a-1', [event(1)], 'no_stream');
    expect(appends[0]?.expected).toBe('no_stream');
  });

  test('gives up when the time is up, and says what is known', async () => {
    let now = 0;
    const clock = { wall: () => 0, monotonic: () => (now += 30) };
    const { store, answers, appends } = stage({ clock, firstAnswerMs: 100 });
    answers.push(...Array.from({ length: 50 }, () => lost));
    const error = await store.append('a-1', [event(1)], 0).catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.cause).toBe(lost);
    expect(appends.length).toBeLessThan(5);
  });

  test('of a large event is refused at once where a call is ended by a message above the limit, and any other repeated', async () => {
    const { store, answers, appends } = stage();
    const ended = () => clientError('8 RESOURCE_EXHAUSTED: Received message exceeds the maximum', { code: 8 });
    answers.push(ended());
    await store.append('a-1', [event(1)], 0);
    expect(appends).toHaveLength(2);
    answers.push(ended());
    const large = { ...event(2), data: { text: 'x'.repeat(1024 * 1024) } };
    await expect(store.append('a-1', [large], 0)).rejects.toThrow('the store refuses an append to a-1: Received');
    expect(appends).toHaveLength(3);
  });

  test('does not repeat what will not heal, nor a wrong revision', async () => {
    const { store, answers, appends } = stage();
    answers.push(
      clientError('', { type: 'access-denied' }),
      clientError('', { type: 'wrong-expected-version', actualVersion: 4n }),
      clientError('', { type: 'maximum-append-size-exceeded', maxAppendSize: 9 }),
    );
    await expect(store.append('a-1', [event(1)], 0)).rejects.toThrow(/ACL/);
    await expect(store.append('a-1', [event(1)], 0)).rejects.toEqual(new WrongRevision('a-1', 0, 4));
    await expect(store.append('a-1', [event(1)], 0)).rejects.toThrow(/limit of 9 bytes/);
    expect(appends).toHaveLength(3);
  });

  test('repeats an answer without a position, which says too little', async () => {
    const { store, answers } = stage();
    answers.push({ revision: 5n }, { revision: 5n, position: 9n });
    expect(await store.append('a-1', [event(1)], 4)).toEqual({ revision: 5, position: 9n });
  });

  test('hears a late rejection of a call that it had given up', async () => {
    const { store, answers } = stage();
    let reject = (_: Error): void => {};
    const late = new Promise<never>((_, refuse) => {
      reject = refuse;
    });
    answers.push(late, { revision: 1n, position: 2n });
    await store.append('a-1', [event(1)], 0);
    // An unhandled rejection would fail the run.
    reject(lost);
    await new Promise(setImmediate);
  });
});

describe('read', () => {
  const item = (n: number, type = 't') => {
    const position = { commit: BigInt(n * 10), prepare: BigInt(n * 10) };
    return {
      event: { id: `id-${n}`, type, data: { n }, metadata: {}, streamId: 's-1', revision: BigInt(n), position },
    };
  };

  test('goes on behind the last event after a loss', async () => {
    const { store, reads, readAnswers } = stage();
    readAnswers.push([lost], [item(0), item(1), lost], [item(2)]);
    const events = await collect(store.read('s-1', { limit: 3 }));
    expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2]);
    expect(reads).toEqual([
      { from: 0n, max: 3 },
      { from: 0n, max: 3 },
      { from: 2n, max: 1 },
    ]);
  });

  test('that is made once asks the leader, and ends with a loss', async () => {
    const { store, reads, readAnswers } = stage();
    readAnswers.push([item(1), lost], [item(1), lost]);
    const all = { from: 'start', direction: 'forwards', limit: 9, once: true } as const;
    await expect(collect(store.readAll(all))).rejects.toThrow(StoreUnavailable);
    await expect(collect(store.read('s-1', { once: true }))).rejects.toThrow(StoreUnavailable);
    expect(reads).toMatchObject([
      { from: 'start', requiresLeader: true },
      { from: 0n, requiresLeader: true },
    ]);
  });

  test('ends with a silence that is too long, but not while its reader is busy', async () => {
    const { store, readAnswers, reads } = stage({ callMs: 20, totalMs: 0 });
    readAnswers.push([item(0), item(1)]);
    const slow: number[] = [];
    for await (const { revision } of store.read('s-1')) {
      slow.push(revision);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(slow).toEqual([0, 1]);
    readAnswers.push(['silence']);
    await expect(collect(store.read('s-1'))).rejects.toThrow(/silent/);
    expect(reads).toHaveLength(2);
  });

  test('of the global order reads the last position again and drops the event that it has', async () => {
    const { store, reads, readAnswers } = stage();
    readAnswers.push(
      Array.from({ length: 34 }, (_, n) => item(n + 1, n === 0 ? 't' : '$metadata')),
      [item(34, '$metadata'), item(35), item(36)],
    );
    const events = await collect(store.readAll({ from: 'start', direction: 'forwards', limit: 2 }));
    expect(events.map(({ position }) => position)).toEqual([10n, 350n]);
    expect(reads).toEqual([
      { from: 'start', max: 34 },
      { from: { commit: 340n, prepare: 340n }, max: 33 },
    ]);
  });

  test('of the global order gives an event once where a loss makes it come twice', async () => {
    const { store, readAnswers } = stage();
    readAnswers.push([item(1), lost], [item(1), item(2)]);
    const events = await collect(store.readAll({ from: 'start', direction: 'forwards', limit: 2 }));
    expect(events.map(({ position }) => position)).toEqual([10n, 20n]);
  });

  test('finds nothing where there is no stream, and says so where it was deleted for good', async () => {
    const { store, readAnswers } = stage();
    readAnswers.push([clientError('', { type: 'stream-not-found' })], [clientError('', { type: 'stream-deleted' })]);
    expect(await collect(store.read('s-1'))).toEqual([]);
    await expect(collect(store.read('s-1'))).rejects.toEqual(new StreamDeleted('s-1'));
  });

  test('keeps what strangers wrote recognisable', async () => {
    const { store, readAnswers } = stage();
    const odd = (n: number, data: unknown) => ({ event: { ...item(n).event, data } });
    readAnswers.push([odd(1, new Uint8Array([1, 2])), odd(2, [1]), odd(3, 'text')]);
    const all = await collect(store.readAll({ from: 'start', direction: 'forwards', limit: 3 }));
    expect(all.map(({ data }) => data)).toEqual([{ $base64: 'AQI=' }, { $json: [1] }, { $json: 'text' }]);
  });
});

describe('a limit of age and a removal', () => {
  const both = [
    ['setStreamMetadata a-1', (store: EventStore) => store.limitAge('a-1', 60)],
    ['deleteStream a-1', (store: EventStore) => store.remove('a-1')],
  ] as const;

  test.each(both)('%s is made again after a silence and a loss, until it is known', async (name, call) => {
    const { store, answers, calls } = stage();
    answers.push('silence', lost);
    await call(store);
    expect(calls).toEqual([name, name, name]);
  });

  test.each(both)('%s is given up when the store refuses it', async (_, call) => {
    const { store, answers, calls } = stage();
    answers.push(clientError('', { type: 'access-denied', code: 7 }));
    await expect(call(store)).rejects.toThrow(/denies/);
    expect(calls).toHaveLength(1);
  });

  test('of what is not there, or gone already, is done', async () => {
    const { store, answers, calls } = stage();
    answers.push(clientError('', { type: 'wrong-expected-version' }), clientError('', { type: 'stream-deleted' }));
    await store.remove('a-1');
    await store.remove('a-1');
    expect(calls).toHaveLength(2);
  });
});

describe('close', () => {
  test('lets appends end before the client is disposed of, and refuses what comes later', async () => {
    const fake = stage({ callMs: 10_000 });
    let answer = (_: { revision: bigint; position: bigint }): void => {};
    fake.answers.push(
      new Promise((resolve) => {
        answer = resolve;
      }),
    );
    const append = fake.store.append('a-1', [event(1)], 'no_stream');
    const closing = fake.store.close();
    await new Promise(setImmediate);
    expect(fake.disposed).toBe(0);
    await expect(fake.store.append('a-1', [event(2)], 0)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(collect(fake.store.read('a-1'))).rejects.toBeInstanceOf(StoreUnavailable);
    answer({ revision: 0n, position: 1n });
    expect((await append).revision).toBe(0);
    await closing;
    expect(fake.disposed).toBe(1);
  });

  test('refuses an append of no events like any other', async () => {
    const { store } = stage();
    await expect(store.append('a-1', [], 'no_stream')).rejects.toThrow(TypeError);
    await store.close();
    await expect(store.append('a-1', [], 'no_stream')).rejects.toBeInstanceOf(StoreUnavailable);
  });
});
