import { describe, expect, test } from 'vitest';
import { type ConnectOptions, storeOver } from '../../src/eventstoredb/connect.ts';
import { reachability } from '../../src/eventstoredb/reachability.ts';
import { clientFor } from '../../src/eventstoredb/target.ts';
import { StoreUnavailable } from '../../src/kernel/store.ts';
import { collect, event, listen } from '../support/events.ts';
import { clientError, fakeClient } from '../support/fake-client.ts';

const lost = clientError('14 UNAVAILABLE: connect ECONNREFUSED', { code: 14 });

describe('what a call may take', () => {
  const limits = { callMs: 4_000, totalMs: 15_000 };
  const brief = { callMs: 500, totalMs: 500 };
  const stage = () => {
    let [now, returns] = [0, 0];
    const clock = { wall: () => 0, monotonic: () => now };
    const reach = reachability({ clock, limits, isBack: () => returns++ });
    const at = (ms: number) => {
      now = ms;
      return reach.limits();
    };
    return { reach, at, returns: () => returns };
  };

  test('is what a new leader takes, and little once an outage is known', () => {
    const { reach, at, returns } = stage();
    reach.answered();
    expect(at(50_000)).toEqual(limits);
    reach.lost();
    expect(at(51_000)).toEqual(limits);
    expect(at(51_001)).toEqual(brief);
    // Further failures do not make it any younger.
    reach.lost();
    expect(at(51_002)).toEqual(brief);
    reach.answered();
    expect(at(51_003)).toEqual(limits);
    expect(returns()).toBe(1);
    reach.answered();
    expect(returns()).toBe(1);
  });

  test('is never little before the first answer: whoever starts may be earlier than the store', () => {
    const { reach, at } = stage();
    reach.lost();
    expect(at(60_000)).toEqual(limits);
    expect(reach.wasAnswered).toBe(false);
  });

  test('is never more than was asked for', () => {
    const clock = { wall: () => 0, monotonic: () => 0 };
    const small = { callMs: 20, totalMs: 100 };
    expect(reachability({ clock, limits: small, isBack: () => {} }).limits()).toEqual(small);
  });
});

describe('an outage', () => {
  /** A store over a client of which every try that fails takes 100 ms of the clock. */
  const stage = (options: ConnectOptions = {}) => {
    let now = 0;
    const fake = fakeClient();
    const network = { isDown: false, tries: 0 };
    const { appendToStream, readStream } = fake.client;
    const trying = () => {
      if (!network.isDown) return;
      now += 100;
      network.tries++;
      fake.answers.unshift(lost);
      fake.readAnswers.unshift([lost]);
    };
    fake.client.appendToStream = (async (...call: Parameters<typeof appendToStream>) => {
      trying();
      return appendToStream(...call);
    }) as typeof appendToStream;
    fake.client.readStream = ((...call: Parameters<typeof readStream>) => {
      trying();
      return readStream(...call);
    }) as typeof readStream;
    const clock = { wall: () => now, monotonic: () => now };
    const store = storeOver(fake.client, { clock, retryMs: [1, 1], ...options });
    const append = () => store.append('a-1', [event(1)], 'no_stream');
    const read = () => collect(store.read('a-1'));
    /** How often a call was tried until it was given up. */
    const triesOf = async (call: () => Promise<unknown>): Promise<number> => {
      network.isDown = true;
      network.tries = 0;
      await expect(call()).rejects.toBeInstanceOf(StoreUnavailable);
      network.isDown = false;
      fake.answers.length = 0;
      fake.readAnswers.length = 0;
      return network.tries;
    };
    const later = (ms: number) => {
      now += ms;
    };
    return { fake, store, network, append, read, triesOf, later };
  };

  test('is waited out by what was under way, and makes nobody wait who comes when it is known', async () => {
    const { append, read, triesOf } = stage();
    await append();
    expect(await triesOf(append)).toBeGreaterThan(100);
    expect(await triesOf(append)).toBeLessThanOrEqual(5);
    expect(await triesOf(read)).toBeLessThanOrEqual(5);
    await append();
    expect(await triesOf(read)).toBeGreaterThan(100);
    // An answer of whatever kind ends it, such as that there is no such stream.
    await read();
    expect(await triesOf(append)).toBeGreaterThan(100);
  });

  test('is over with a refusal too', async () => {
    const { fake, append, triesOf } = stage();
    await append();
    await triesOf(append);
    fake.answers.push(clientError('', { type: 'wrong-expected-version', actualVersion: 4n }));
    await append().catch(() => {});
    expect(await triesOf(append)).toBeGreaterThan(100);
  });

  test('is known from the loss of a subscription, and its end brings the subscription back at once', async () => {
    const { fake, store, append, triesOf, later } = stage({ resubscribeMs: [600_000, 600_000] });
    await append();
    const heard = listen(store);
    (await fake.subscription(1)).emit('error', lost);
    await new Promise(setImmediate);
    later(1001);
    expect(await triesOf(append)).toBeLessThanOrEqual(5);
    expect(fake.subscriptions).toHaveLength(1);
    await append();
    await fake.subscription(2);
    await heard.close();
  });

  test('is over once a subscription is confirmed', async () => {
    const { fake, store, append, triesOf, later } = stage({ resubscribeMs: [1, 1] });
    await append();
    const heard = listen(store);
    (await fake.subscription(1)).emit('error', lost);
    const second = await fake.subscription(2);
    later(1001);
    second.emit('confirmation');
    expect(await triesOf(append)).toBeGreaterThan(100);
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
