import { describe, expect, test } from 'vitest';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { ownerOf } from '../../src/eventstoredb/client/owner.ts';
import { clientFor } from '../../src/eventstoredb/client/target.ts';
import { storeOver } from '../../src/eventstoredb/connect.ts';
import type { probe } from '../../src/eventstoredb/probe.ts';
import { Budget } from '../../src/kernel/store/budget.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { collect, event, listen } from '../support/events.ts';
import { clientError, fakeClient } from '../support/fake-client.ts';

const lost = clientError('14 UNAVAILABLE: connect ECONNREFUSED', { code: 14 });

/** The time of a command that began when the clock stood at 0. */
const begun = (ms: number): Budget => {
  const budget = new Budget(ms);
  budget.from({ wall: () => 0, monotonic: () => 0 });
  return budget;
};

/** A store over a client, with the probe in the test's hands. */
const stage = (options: ConnectOptions = {}) => {
  const time = { now: 0 };
  const clock = { wall: () => time.now, monotonic: () => time.now };
  const made: ReturnType<typeof fakeClient>[] = [];
  const owner = ownerOf(() => {
    const fake = fakeClient();
    made.push(fake);
    return fake.client;
  }, clock);
  let probed: Parameters<typeof probe>[0] | undefined;
  let hurried = 0;
  const store = storeOver(owner, { clock, retryMs: [1, 1], resubscribeMs: [1, 1], ...options }, (given) => {
    probed = given;
    return { hurry: () => hurried++, close: () => {} };
  });
  return {
    time,
    owner,
    store,
    made,
    probed: probed!,
    hurried: () => hurried,
    append: (budget?: Budget) => store.append('a-1', [event(1)], 'no_stream', { budget }),
  };
};

describe('what begins while no leader is known', () => {
  test('is refused at once, and asks the store for nothing', async () => {
    const { made, store, append, probed } = stage();
    probed.contact.found(false);
    probed.contact.missed('no leader');
    const budget = begun(5_000);
    await expect(append(budget)).rejects.toThrow('The event store is away: no leader.');
    await expect(collect(store.read('a-1', { budget }))).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.limitAge('a-1', 60, { budget })).rejects.toBeInstanceOf(StoreUnavailable);
    expect(made[0]!.appends).toHaveLength(0);
    expect(made[0]!.reads).toHaveLength(0);
    expect(store.state).toEqual({ is: 'lost', why: 'no leader', refuses: false });
    probed.contact.found(false);
    await append();
    expect(store.state).toEqual({ is: 'there' });
  });

  test('waits with everybody before the first answer ever: whoever starts may be earlier than the store', async () => {
    const { made, append, probed } = stage();
    probed.contact.missed('connection refused');
    made[0]!.answers.push(lost, lost);
    await append();
    expect(made[0]!.appends).toHaveLength(3);
  });
});

describe('a command that was under way when the leader went', () => {
  test('waits for the next one and goes on, also with the appends that it comes to meanwhile', async () => {
    const { time, made, append, probed } = stage();
    probed.contact.found(false);
    const budget = begun(5_000);
    time.now = 1_000;
    probed.contact.missed('no leader');
    made[0]!.answers.push(lost);
    const appended = append(budget);
    await new Promise((resolve) => setTimeout(resolve, 20));
    // One try, and then it does not disturb a store that is known to be away.
    expect(made[0]!.appends).toHaveLength(1);
    probed.contact.found(true);
    await appended;
    expect(made[0]!.appends).toHaveLength(2);
  });

  test('is given up when its time is over, whatever it does', async () => {
    const { time, made, append, probed } = stage({ callMs: 10 });
    probed.contact.found(false);
    time.now = 5_000;
    await expect(append(begun(5_000))).rejects.toThrow('The time of the command is up.');
    expect(made[0]!.appends).toHaveLength(0);
    made[0]!.answers.push('silence');
    time.now = 4_999.5;
    await expect(append(begun(5_000))).rejects.toThrow(/did not answer within/);
    expect(made[0]!.appends).toHaveLength(1);
  });

  test('has all of its time, and no more, where the store answers looks and lets appends hang', async () => {
    const { time, made, append, probed, hurried } = stage({ callMs: 2 });
    probed.contact.found(false);
    const { appendToStream } = made[0]!.client;
    made[0]!.client.appendToStream = (async (...call: Parameters<typeof appendToStream>) => {
      time.now += 1_000;
      made[0]!.answers.unshift('silence');
      return appendToStream(...call);
    }) as typeof appendToStream;
    await expect(append(begun(5_000))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(made[0]!.appends).toHaveLength(5);
    expect(hurried()).toBeGreaterThan(3);
  });
});

describe('a client that cannot heal', () => {
  const givenUp = new Error('Failed to discover after 10 attempts.');

  test('is replaced at once where the store is there: it would say so for ever', async () => {
    const { made, append, probed } = stage();
    probed.contact.found(false);
    made[0]!.answers.push(givenUp);
    await append();
    expect(made).toHaveLength(2);
    expect(made[1]!.appends).toHaveLength(1);
    expect(made[1]!.appends[0]!.ids).toEqual(made[0]!.appends[0]!.ids);
    await expect.poll(() => made[0]!.disposed).toBe(1);
  });

  test('is not while the store is away: discovery has to have its time', async () => {
    const { time, made, append, probed } = stage();
    probed.contact.found(false);
    time.now = 1_000;
    const appended = append(begun(50_000));
    await appended;
    probed.contact.missed('no leader');
    made[0]!.answers.push(givenUp);
    const second = append(begun(50_000));
    await expect.poll(() => made[0]!.appends.length).toBe(2);
    expect(made).toHaveLength(1);
    probed.contact.found(false);
    await second;
  });

  test('leaves a subscription, a read and an append to the new one, which go on where they were', async () => {
    const { time, made, store, append, owner } = stage();
    const heard = listen(store);
    const first = await made[0]!.subscription(1);
    first.event(1);
    await heard.until(1);
    made[0]!.answers.push('silence');
    made[0]!.readAnswers.push(['silence']);
    const appended = append();
    const read = collect(store.read('a-1'));
    await expect.poll(() => made[0]!.reads.length).toBe(1);
    time.now = 5_001;
    owner.replace('it does not answer', false);
    await appended;
    await read;
    const second = await made[1]!.subscription(1);
    expect(second.from).toEqual({ commit: 1n, prepare: 1n });
    expect(made[1]!.reads).toHaveLength(1);
    expect(made[1]!.appends).toEqual(made[0]!.appends);
    await heard.close();
  });

  test('has five seconds to itself', () => {
    const { time, made, owner } = stage();
    time.now = 4_999;
    owner.replace('it does not answer', false);
    expect(made).toHaveLength(1);
    time.now = 5_000;
    owner.replace('it does not answer', false);
    expect(made).toHaveLength(2);
    owner.replace('it does not answer', false);
    expect(made).toHaveLength(2);
  });
});

describe('a subscription', () => {
  test('that stands still while the log goes on is opened again', async () => {
    const { made, store, probed } = stage({ silenceMs: 5 });
    const heard = listen(store);
    (await made[0]!.subscription(1)).event(1);
    await heard.until(1);
    probed.seen({ askedAt: 0, end: 1n });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(made[0]!.subscriptions).toHaveLength(1);
    probed.seen({ askedAt: 0, end: 2n });
    expect((await made[0]!.subscription(2)).from).toEqual({ commit: 1n, prepare: 1n });
    await heard.close();
  });

  test('goes over to the leader with the client', async () => {
    const { made, store, probed } = stage();
    const heard = listen(store);
    const first = await made[0]!.subscription(1);
    // One that was not confirmed would be opened again anyway.
    first.emit('confirmation');
    first.event(1);
    await heard.until(1);
    probed.moved();
    await made[0]!.subscription(2);
    await heard.close();
  });

  test('that the store refuses from the first ends; one that it took once goes on asking', async () => {
    const denied = clientError('', { type: 'access-denied' });
    const { made, store } = stage();
    const refused = listen(store);
    (await made[0]!.subscription(1)).emit('error', denied);
    expect(await refused.failed).toBeInstanceOf(StoreUnavailable);
    const heard = listen(store);
    const taken = await made[0]!.subscription(2);
    taken.emit('confirmation');
    taken.emit('error', denied);
    (await made[0]!.subscription(3)).event(1);
    await heard.until(1);
    await heard.close();
  });
});

describe('a connection string that cannot be used', () => {
  const complaint = (url: string): string => {
    try {
      clientFor({ url });
    } catch (error) {
      return (error as Error).message;
    }
    return 'none';
  };

  test('is named for what is wrong with it, without the password', () => {
    expect(complaint('esdb://u:secret@host:2113?tlsCAFile=/nowhere/ca%20.crt')).toBe(
      'EVENTSTORE_URL cannot be used: there is no file /nowhere/ca .crt, which tlsCAFile names.',
    );
    expect(complaint(`esdb://host:2113?userCertFile=${import.meta.filename}&userKeyFile=/nowhere/k`)).toBe(
      'EVENTSTORE_URL cannot be used: there is no file /nowhere/k, which userKeyFile names.',
    );
    const odd = complaint('esdb://u:secret@[::1:2113');
    expect(odd).toMatch(/^EVENTSTORE_URL cannot be used: .+ position \d+.+\.$/);
    expect(odd).not.toContain('secret');
    expect(complaint('esdb://u:secret@host:2113?tls=false&throwOnAppendFailure=false')).toMatch(/throwOnAppendFailure/);
    expect(complaint('esdb://u:secret@host:2113?tls=false&throwOnAppendFailure=true')).toBe('none');
    expect(complaint('esdb://u:secret@host:2113?tls=false')).toBe('none');
    // What a client tries for 15 s and then reports as a store that does not answer.
    for (const hosts of ['host:99999', 'a:2113,b:65536', 'host:0'])
      expect(complaint(`esdb://u:se:cret@${hosts}?tls=false`)).toMatch(
        /^EVENTSTORE_URL cannot be used: (99999|65536|0) is no port; there are 1 to 65535\.$/,
      );
    expect(complaint('esdb://host:2113?tls=false&connectionName=a:99999')).toBe('none');
  });
});
