import { describe, expect, test } from 'vitest';
import { contact } from '../../src/eventstoredb/client/contact.ts';
import { onSignal } from '../../src/telemetry.ts';
import { clientError } from '../support/fake-client.ts';

const stage = () => {
  const time = { now: 0 };
  const signals: unknown[] = [];
  const state = contact({ wall: () => 0, monotonic: () => time.now }, async (error) => error);
  const during = (work: () => void): unknown[] => {
    const stop = onSignal((name, signal) => signals.push([name, signal]));
    work();
    stop();
    return signals.splice(0);
  };
  return { time, state, during };
};

describe('an outage is told', () => {
  test('once when it begins, once a minute, and once when it is over', () => {
    const { time, state, during } = stage();
    expect(during(() => state.found(false))).toEqual([]);
    const minutes = during(() => {
      for (; time.now < 150_000; time.now += 500) state.missed('no leader');
    });
    expect(minutes).toEqual([
      ['store.lost', { reason: 'no leader' }],
      ['store.away', { reason: 'no leader', forMs: 60_000 }],
      ['store.away', { reason: 'no leader', forMs: 120_000 }],
    ]);
    expect(during(() => state.found(true))).toEqual([
      ['store.moved', {}],
      ['store.back', { afterMs: 150_000 }],
    ]);
    expect(during(() => state.found(false))).toEqual([]);
  });

  test('otherwise before the store has ever answered: each attempt is told', () => {
    const { state, during } = stage();
    expect(during(() => state.missed('connection refused'))).toEqual([
      ['store.awaited', { reason: 'connection refused' }],
    ]);
    expect(state.state).toEqual({ is: 'unknown', why: 'connection refused' });
    expect(state.lost).toBeUndefined();
  });

  test('and a reader that stumbles once a minute, while the store itself is there', () => {
    const { time, state, during } = stage();
    state.found(false);
    const reset = clientError('read ECONNRESET\n  at a place');
    const stumbles = () => {
      state.stumbled(reset);
      state.found(false);
    };
    expect(during(stumbles)).toEqual([['store.stumbled', { reason: 'read ECONNRESET' }]]);
    expect(during(stumbles)).toEqual([]);
    time.now = 60_000;
    expect(during(stumbles)).toHaveLength(1);
  });

  test('with one line where a reader notices it first, or too late', () => {
    const { time, state, during } = stage();
    state.found(false);
    time.now = 60_000;
    const lostAndBack = () => {
      state.stumbled(new Error('read ECONNRESET'));
      state.missed('no leader');
      state.stumbled(new Error('read ECONNRESET'));
      state.found(false);
    };
    expect(during(lostAndBack)).toEqual([
      ['store.lost', { reason: 'no leader' }],
      ['store.back', { afterMs: 0 }],
    ]);
  });
});

test('who waits for the store is woken when it is back, or when the time is up', async () => {
  const { state } = stage();
  state.found(false);
  await state.back(60_000);
  state.missed('no leader');
  const woken = state.back(60_000);
  await state.back(1);
  state.found(false);
  await woken;
});
