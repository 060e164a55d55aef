import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { folding } from '../../src/observability/log/folding.ts';
import type { SignalName } from '../../src/telemetry.ts';

const folded = () => {
  const told: { name: SignalName; signal: object; repeated: number | undefined }[] = [];
  let then = () => {};
  let timers = 0;
  const { said, flush } = folding(
    (name, signal, repeated) => void told.push({ name, signal, repeated }),
    (_, later) => {
      timers += 1;
      then = later;
    },
  );
  return { told, said, flush, minute: () => then(), timers: () => timers };
};

describe('what is said', () => {
  test('is told at once, and what is said again within the minute is told once at its end', () => {
    const { told, said, minute, timers } = folded();
    for (let n = 1; n <= 60; n++) said('store.away', { reason: 'no leader', forMs: n * 1_000 });
    expect(told).toEqual([{ name: 'store.away', signal: { reason: 'no leader', forMs: 1_000 }, repeated: undefined }]);
    minute();
    expect(told.slice(1)).toEqual([
      { name: 'store.away', signal: { reason: 'no leader', forMs: 60_000 }, repeated: 59 },
    ]);
    expect(timers()).toBe(1);
    // And so in the next.
    for (let n = 1; n <= 60; n++) said('store.away', { reason: 'no leader', forMs: n * 1_000 });
    minute();
    expect(told.map(({ repeated }) => repeated)).toEqual([undefined, 59, undefined, 59]);
  });

  test('of a command is told each time', () => {
    const { told, said, minute } = folded();
    const signal = { requestId: undefined, stream: 'a', events: ['b'] };
    for (let n = 0; n < 3; n++) said('command.recorded', { ...signal, revision: n });
    minute();
    expect(told.map(({ repeated }) => repeated)).toEqual([undefined, undefined, undefined]);
  });

  test('once in a minute is told once', () => {
    const { told, said, minute } = folded();
    said('audit.sink_back', { sink: 'a' });
    minute();
    said('audit.sink_back', { sink: 'a' });
    minute();
    expect(told.map(({ repeated }) => repeated)).toEqual([undefined, undefined]);
  });

  test('in other words is another thing; other numbers and requests are not', () => {
    const { told, said } = folded();
    said('request.failed', { requestId: 'req_1', error: new Error('a') });
    said('request.failed', { requestId: 'req_2', error: new Error('a') });
    said('request.failed', { requestId: 'req_3', error: new TypeError('a') });
    said('request.failed', { requestId: 'req_4', error: new Error('b') });
    said('policies.unrecorded', { decisions: 1 });
    said('policies.unrecorded', { decisions: 2 });
    expect(told).toHaveLength(4);
  });

  test('in ever other words takes no more than so much memory and lines', () => {
    const { told, said, minute } = folded();
    for (let n = 0; n < 5_000; n++) said('audit.sink_back', { sink: `${n}` });
    // A thousand of them, and the name for all that came after.
    expect(told).toHaveLength(1_001);
    minute();
    expect(told.slice(1_001).map(({ repeated }) => repeated)).toEqual([3_999]);
  });

  test('is all accounted for', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'minute')), (says) => {
        const { told, said, minute, flush } = folded();
        for (const each of says) {
          if (each === 'minute') minute();
          else said('audit.sink_back', { sink: each });
        }
        flush();
        for (const sink of ['a', 'b', 'c']) {
          const lines = told.filter(({ signal }) => (signal as { sink: string }).sink === sink);
          const counted = lines.reduce((sum, { repeated = 1 }) => sum + repeated, 0);
          expect(counted).toBe(says.filter((each) => each === sink).length);
        }
      }),
    ));
});
