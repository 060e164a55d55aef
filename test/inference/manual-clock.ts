import type { Clock, Millis } from '../../src/clock.ts';
import type { After } from '../../src/data/reply/event-output.ts';

interface Alarm {
  readonly at: Millis;
  readonly ring: () => void;
}

/** Time that passes when it is told to; alarms ring on the way. */
export const manualClock = () => {
  let now = 1000;
  const alarms = new Set<Alarm>();
  const after: After = (ms, then) => {
    const alarm = { at: now + ms, ring: then };
    alarms.add(alarm);
    return () => alarms.delete(alarm);
  };
  return {
    wall: () => now,
    monotonic: () => now,
    after,
    get alarms() {
      return alarms.size;
    },
    advance(ms: Millis) {
      const until = now + ms;
      for (;;) {
        const [next] = [...alarms].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        alarms.delete(next);
        now = next.at;
        next.ring();
      }
      now = until;
    },
  } satisfies Clock & Record<string, unknown>;
};
