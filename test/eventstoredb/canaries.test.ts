import { describe, expect, test } from 'vitest';
import { type Owner, ownerOf } from '../../src/eventstoredb/client/owner.ts';
import { storeOver } from '../../src/eventstoredb/connect.ts';
import type { probe } from '../../src/eventstoredb/probe.ts';
import { StoreUnavailable } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { clientError, fakeClient } from '../support/fake-client.ts';

const clock = { wall: () => 0, monotonic: () => performance.now() };
const givenUp = new Error('Failed to discover after 10 attempts.');
const gone = clientError('14 UNAVAILABLE: connect ECONNREFUSED', { code: 14 });
/** More of it than anybody repeats a call in the time that he has. */
const forEver = <T>(answer: T): T[] => Array.from({ length: 10_000 }, () => answer);

/** A store whose first client never heals, behind an owner and a probe. */
const stage = (how: { readonly owner: (real: Owner) => Owner; readonly look: typeof probe; readonly fails: Error }) => {
  const made: ReturnType<typeof fakeClient>[] = [];
  const real = ownerOf(() => {
    const fake = fakeClient();
    if (made.length === 0) fake.answers.push(...forEver(how.fails));
    made.push(fake);
    return fake.client;
  }, clock);
  const times = { clock, totalMs: 200, firstAnswerMs: 200, retryMs: [1, 1] } as const;
  const store = storeOver(how.owner(real), times, how.look);
  return { store, append: () => store.append('a-1', [event(1)], 'no_stream') };
};

const asItIs = (real: Owner): Owner => real;
const neverReplaces = (real: Owner): Owner => ({
  client: real.client,
  attempt: real.attempt,
  hasChosen: real.hasChosen,
  onLoss: real.onLoss,
  replace: () => {},
  close: real.close,
});

/** Finds the store once, and then what a probe finds that is told of nothing. */
const foundOnce: typeof probe = ({ contact }) => {
  contact.found(false);
  return { hurry: () => {}, close: () => {} };
};
/** Finds the store once, and away when it is told to look again. */
const finds: typeof probe = ({ contact }) => {
  contact.found(false);
  return { hurry: () => contact.missed(gone), close: () => {} };
};

describe('without its protection a fault stays', () => {
  test('a client that has given up is used for ever where nobody replaces it', async () => {
    await stage({ owner: asItIs, look: foundOnce, fails: givenUp }).append();
    const without = stage({ owner: neverReplaces, look: foundOnce, fails: givenUp });
    await expect(without.append()).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('a store that is away is taken for one that is there where nobody looks', async () => {
    const { store, append } = stage({ owner: asItIs, look: finds, fails: gone });
    await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(store.state.is).toBe('lost');
    const without = stage({ owner: asItIs, look: foundOnce, fails: gone });
    await expect(without.append()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(without.store.state.is).toBe('there');
  });
});
