import { describe, expect, test } from 'vitest';
import { Breaker } from '../../../src/data/upstream/balance/breaker.ts';
import { fixedClock } from '../../support/fixed-clock.ts';

/** The breaker of one upstream (contract L.2), with time that passes when it is told to. */
const start = () => {
  const clock = fixedClock(1_000_000);
  const changes: boolean[] = [];
  const breaker = new Breaker(clock, (isOpen) => changes.push(isOpen));
  const fail = (times = 1) => {
    for (let time = 0; time < times; time++) breaker.begin().failed();
  };
  return { clock, changes, breaker, fail };
};

describe('closed', () => {
  test('it opens with the fifth failure in a row, and says so once', () => {
    const { breaker, changes, fail } = start();
    fail(4);
    breaker.begin().answered();
    fail(4);
    expect([breaker.state, breaker.isFree, changes]).toEqual(['closed', true, []]);
    fail();
    expect([breaker.state, breaker.isFree, changes]).toEqual(['open', false, [true]]);
  });

  test('an attempt that tells nothing of the upstream neither counts nor breaks the row', () => {
    const { breaker, fail } = start();
    fail(4);
    breaker.begin().abandoned();
    expect(breaker.state).toBe('closed');
    fail();
    expect(breaker.state).toBe('open');
  });

  test('of one attempt the first word about its end counts', () => {
    const { breaker, fail } = start();
    fail(4);
    const attempt = breaker.begin();
    attempt.began();
    attempt.answered();
    attempt.failed();
    fail(4);
    expect(breaker.state).toBe('closed');
  });
});

describe('open', () => {
  test('after a second it lets one request through, and no other beside it', () => {
    const { breaker, clock, fail } = start();
    fail(5);
    clock.at += 999;
    expect([breaker.state, breaker.isFree, breaker.freeInMs]).toEqual(['open', false, 1]);
    clock.at += 1;
    expect([breaker.state, breaker.isFree, breaker.freeInMs]).toEqual(['half_open', true, 0]);
    const probe = breaker.begin();
    expect([breaker.state, breaker.isFree]).toEqual(['half_open', false]);
    probe.abandoned();
    expect(breaker.isFree).toBe(true);
  });

  test.each(['began', 'answered'] as const)('a probe that %s closes it, and the count begins anew', (end) => {
    const { breaker, clock, changes, fail } = start();
    fail(5);
    clock.at += 1000;
    breaker.begin()[end]();
    expect([breaker.state, changes]).toEqual(['closed', [true, false]]);
    fail(4);
    expect(breaker.state).toBe('closed');
    fail();
    expect([breaker.state, breaker.freeInMs, changes]).toEqual(['open', 1000, [true, false, true]]);
  });

  test('each probe that fails doubles the wait, up to four seconds, without a word', () => {
    const { breaker, clock, changes, fail } = start();
    fail(5);
    const waits: number[] = [];
    for (let round = 0; round < 4; round++) {
      waits.push(breaker.freeInMs);
      clock.at += breaker.freeInMs;
      fail();
    }
    expect(waits).toEqual([1000, 2000, 4000, 4000]);
    expect(changes).toEqual([true]);
  });

  test('requests that began before do not count, however they end', () => {
    const { breaker, clock, fail } = start();
    const [good, bad, slow] = [breaker.begin(), breaker.begin(), breaker.begin()];
    fail(5);
    good.answered();
    bad.failed();
    expect([breaker.state, breaker.freeInMs]).toEqual(['open', 1000]);
    clock.at += 1000;
    const probe = breaker.begin();
    slow.began();
    slow.answered();
    expect([breaker.state, breaker.isFree]).toEqual(['half_open', false]);
    probe.failed();
    expect(breaker.freeInMs).toBe(2000);
  });
});

describe('paused', () => {
  test('it rests as long as the upstream has asked for, half a minute at most; the longest wish holds', () => {
    const { breaker, clock, changes } = start();
    breaker.begin().paused(7000);
    breaker.begin().paused(2000);
    expect([breaker.state, breaker.isFree, breaker.freeInMs]).toEqual(['paused', false, 7000]);
    breaker.begin().paused(3_600_000);
    expect(breaker.freeInMs).toBe(30_000);
    clock.at += 30_000;
    expect([breaker.state, breaker.isFree, changes]).toEqual(['closed', true, []]);
  });

  test('a probe that is asked to pause leaves the breaker open, for another probe after the pause', () => {
    const { breaker, clock, fail } = start();
    fail(5);
    clock.at += 1000;
    breaker.begin().paused(5000);
    expect([breaker.state, breaker.freeInMs]).toEqual(['paused', 5000]);
    clock.at += 5000;
    expect([breaker.state, breaker.isFree]).toEqual(['half_open', true]);
  });
});
