import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { ownerOf } from '../../src/eventstoredb/client/owner.ts';
import { storeOver } from '../../src/eventstoredb/connect.ts';
import { probe } from '../../src/eventstoredb/probe.ts';
import { onSignal } from '../../src/telemetry.ts';
import { listen } from '../support/events.ts';
import { clientError, fakeClient } from '../support/fake-client.ts';

const endings: (() => unknown)[] = [];
let told: string[] = [];
beforeEach(() => {
  told = [];
  endings.push(onSignal((name, signal) => told.push(`${name} ${(signal as { reason?: string }).reason ?? ''}`.trim())));
});
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const endAt = (commit: bigint) => [{ event: { position: { commit } } }];
const notLeader = clientError('Leader info available', { type: 'not-leader' });
type Answer = Parameters<ReturnType<typeof fakeClient>['readAnswers']['push']>[0];

interface Discovered {
  /** Of each client, whether its discovery has chosen a node, or when; without it there is none. */
  readonly chosen?: readonly (boolean | Promise<true>)[];
  readonly clock?: Clock;
}

/** A store that is probed for real, over clients whose looks at the log's end have these answers, one list for each client. */
const discoveredStage = async ({ chosen, clock = systemClock }: Discovered, ...looks: Answer[][]) => {
  const made: ReturnType<typeof fakeClient>[] = [];
  const owner = ownerOf(
    () => {
      const fake = fakeClient();
      const hasChosen = chosen?.[made.length];
      const connection = Promise.resolve(hasChosen || new Promise(() => {})).then(() => ({ close() {} }));
      if (hasChosen !== undefined) Object.assign(fake.client, { getChannel: () => connection });
      fake.readAnswers.push(...(looks[made.length] ?? []));
      made.push(fake);
      return fake.client;
    },
    clock,
    chosen !== undefined,
  );
  let look: ReturnType<typeof probe> | undefined;
  const options: ConnectOptions = { clock, resubscribeMs: [1, 1] };
  const store = storeOver(owner, options, (given) => {
    look = probe(given);
    return look;
  });
  endings.push(() => store.close());
  await expect.poll(() => store.state.is).toBe('there');
  return { made, owner, store, hurry: () => look!.hurry() };
};
const stage = (...looks: Answer[][]) => discoveredStage({}, ...looks);

describe('a client that was replaced in the middle of a look', () => {
  test('is no loss of the store: the next one is asked, and what it says counts', async () => {
    const { made, owner, store, hurry } = await stage([endAt(7n), ['silence']], [endAt(9n)]);
    const ends: bigint[] = [];
    store.onHeadPoll(({ end }) => ends.push(end));
    hurry();
    await expect.poll(() => made[0]!.reads.length).toBe(2);
    owner.replace('its appends have no answer', true);
    await expect.poll(() => ends).toContain(9n);
    expect(store.state).toEqual({ is: 'there' });
    expect(told).toEqual([]);
  });

  test('hides no loss: where the next one finds nothing either, that is told', async () => {
    const refused = clientError('14 UNAVAILABLE: connect ECONNREFUSED', { code: 14 });
    const { made, owner, store, hurry } = await stage([endAt(7n), ['silence']], [[refused]]);
    hurry();
    await expect.poll(() => made[0]!.reads.length).toBe(2);
    owner.replace('its appends have no answer', true);
    await expect.poll(() => store.state.is).toBe('lost');
    expect(told[0]).toMatch(/^store\.lost .*ECONNREFUSED/);
  });

  test('moves to the leader as often as any other, and no more', async () => {
    const { made, owner, store, hurry } = await stage(
      [endAt(7n), ['silence']],
      Array.from({ length: 8 }, () => [notLeader]),
    );
    hurry();
    await expect.poll(() => made[0]!.reads.length).toBe(2);
    owner.replace('its appends have no answer', true);
    await expect.poll(() => store.state.is).toBe('lost');
    expect(made[1]!.reads.length).toBeLessThanOrEqual(4);
  });
});

describe('a client in its first five seconds whose looks have no answer', () => {
  // No time passes for the client: it never is older than five seconds.
  const clock = { wall: () => 0, monotonic: () => 0 };
  const silent = [endAt(7n), ...Array.from({ length: 9 }, (): Answer => ['silence'])];
  const patience = { timeout: 10_000 };

  test('is replaced with the second of them where discovery had chosen its node: it would stay there', async () => {
    const { made, store } = await discoveredStage({ clock, chosen: [true, true] }, silent, [endAt(9n)]);
    await expect.poll(() => made.length, patience).toBe(2);
    await expect.poll(() => store.state.is).toBe('there');
    expect(made[0]!.reads).toHaveLength(3);
  });

  test('is left its time for each look in which discovery was at work', async () => {
    let choose = (_: true): void => {};
    const chosen = new Promise<true>((resolve) => {
      choose = resolve;
    });
    const { made } = await discoveredStage({ clock, chosen: [chosen, true] }, silent, [endAt(9n)]);
    await expect.poll(() => made[0]!.reads.length, patience).toBe(3);
    choose(true);
    await expect.poll(() => made.length, patience).toBe(2);
    expect(made[0]!.reads).toHaveLength(5);
  });

  test.each([
    ['discovery is still looking', [false]],
    ['there is nothing to choose from', undefined],
  ])('is left alone where %s', async (_, chosen) => {
    const { made, store } = await discoveredStage({ clock, ...(chosen && { chosen }) }, silent);
    await expect.poll(() => made[0]!.reads.length, patience).toBe(4);
    expect(store.state.is).toBe('lost');
    expect(made).toHaveLength(1);
  });
});

describe('a subscription that Weir itself opens anew is no stumble', () => {
  test.each([
    ['with a new client', [endAt(0n)], ({ owner }: Awaited<ReturnType<typeof stage>>) => owner.replace('r', true)],
    ['at another leader', [endAt(0n), [notLeader]], ({ hurry }: Awaited<ReturnType<typeof stage>>) => hurry()],
  ])('%s', async (_, looks, anew) => {
    const scene = await stage(looks);
    const heard = listen(scene.store);
    endings.push(() => heard.close());
    await scene.made[0]!.subscription(1);
    anew(scene);
    await expect.poll(() => scene.made.reduce((sum, { subscriptions }) => sum + subscriptions.length, 0)).toBe(2);
    expect(told.filter((each) => each !== 'store.moved')).toEqual([]);
  });

  test('and one that the store has lost is one', async () => {
    const { made, store } = await stage([endAt(0n)]);
    const heard = listen(store);
    endings.push(() => heard.close());
    (await made[0]!.subscription(1)).emit('error', clientError('read ECONNRESET'));
    await expect.poll(() => told).toEqual(['store.stumbled read ECONNRESET']);
    await made[0]!.subscription(2);
  });

  test('which is told at once, whatever is being delivered', async () => {
    const { made, store } = await stage([endAt(0n)]);
    let deliver = (): void => {};
    const delivering = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    const heard = listen(store, { deliver: () => delivering });
    endings.push(() => heard.close());
    const source = await made[0]!.subscription(1);
    source.event(1);
    await heard.begun(1);
    source.emit('error', clientError('read ECONNRESET'));
    await expect.poll(() => told).toEqual(['store.stumbled read ECONNRESET']);
    deliver();
    await heard.until(1);
  });
});
