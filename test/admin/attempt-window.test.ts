import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AttemptWindow } from '../../src/admin/oauth/attempt-window.ts';

const most = 3;
const windowMs = 1000;

test('admits as many as a plain count of the window does, and its Retry-After is the earliest second that helps', () => {
  const step = fc.record({
    caller: fc.constantFrom('a', 'b'),
    wait: fc.oneof(fc.nat(700), fc.constantFrom(0, 1, 999, 1000, 1001)),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const window = new AttemptWindow(most, windowMs);
      const attempts: { caller: string; at: number }[] = [];
      const within = (caller: string, now: number): number =>
        attempts.filter((attempt) => attempt.caller === caller && attempt.at > now - windowMs).length;
      let now = 0;
      for (const { caller, wait } of steps) {
        now += wait;
        const isAdmitted = within(caller, now) < most;
        attempts.push({ caller, at: now });
        const retryAfter = window.count(caller, now);
        expect(retryAfter === 0).toBe(isAdmitted);
        if (isAdmitted) continue;
        expect(within(caller, now + retryAfter * 1000)).toBeLessThan(most);
        if (retryAfter > 1) expect(within(caller, now + (retryAfter - 1) * 1000)).toBe(most);
      }
    }),
  );
});

test('forgets callers of long ago when there are many', () => {
  const window = new AttemptWindow(most, windowMs);
  for (let i = 0; i < 30_000; i++) expect(window.count(`caller-${i}`, i)).toBe(0);
  expect(window.size).toBeLessThanOrEqual(10_000);
  for (let i = 0; i < most; i++) window.count('busy', 30_000);
  expect(window.count('busy', 30_000)).toBe(1);
});
