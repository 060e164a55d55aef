import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { start } from '../../src/limits/count-request.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { settle } from '../../src/limits/settle.ts';
import { restore } from '../../src/limits/snapshot/restore.ts';
import type { Ticket } from '../../src/limits/window/ticket.ts';
import { limitSubject } from '../../src/limits/window/window-store.ts';
import { drain, inferenceOf, used, wall } from './snapshots.ts';

vi.setConfig({ testTimeout: 120_000 });

const dayMs = 86_400_000;

const pause = fc.oneof(
  fc.double({ min: 0, max: 5_000, noNaN: true }),
  fc.double({ min: 0, max: 70_000, noNaN: true }),
  fc.double({ min: 0, max: dayMs / 2, noNaN: true }),
);
const steps = fc.array(
  fc.record({
    what: fc.constantFrom('ask', 'ask', 'restart', 'restart', 'killed between two chunks'),
    pause,
    // How long the process has been up when its clock is first looked at.
    up: fc.double({ min: 0, max: 5_000_000, noNaN: true }),
  }),
  { minLength: 1, maxLength: 40 },
);

test('tokens count for one bucket more than their window at most, however often and whenever a gateway starts', () => {
  fc.assert(
    fc.property(steps, fc.double({ min: 0, max: 600_000, noNaN: true }), (list, offset) => {
      let now = 0;
      let born = -1_000;
      let store = inferenceOf(5);
      let restarts = 0;
      const saved: Uint8Array[] = [];
      const asked: { at: number; tokens: number }[] = [];
      const monotonic = () => now - born;
      const wallNow = () => Math.floor(wall + offset + now);
      const check = () => {
        const [key, , organization] = used(store, monotonic());
        // Both clocks are read in milliseconds.
        const blur = 2 * (restarts + 1);
        for (const [seen, window, bucket] of [
          [key?.[3] ?? 0, 60_000, 1_000],
          [organization?.[4] ?? 0, dayMs, 600_000],
        ] as const) {
          const within = (age: number) =>
            asked.filter(({ at }) => now - at < age).reduce((sum, { tokens }) => sum + tokens, 0);
          expect(seen).toBeGreaterThanOrEqual(within(window - blur));
          expect(seen).toBeLessThanOrEqual(within(window + bucket + blur));
        }
      };
      for (const [number, step] of list.entries()) {
        now += step.pause;
        check();
        if (step.what === 'ask') {
          const ticket = start(store, limitSubject('k', 'p', 'o'), monotonic()) as Ticket;
          const tokens = 2 ** (number % 20);
          settle(store, reserve(store, ticket, tokens, monotonic()) as Ticket, tokens);
          asked.push({ at: now, tokens });
          saved.push(...drain(store, wallNow(), monotonic()));
          continue;
        }
        // A file that is begun anew has a record in one chunk and the next in another.
        for (const record of store.all()) store.changed(record);
        const chunks = drain(store, wallNow(), monotonic(), 1);
        saved.push(...(step.what === 'restart' ? chunks : chunks.slice(0, 1)));
        now += step.pause / 7;
        born = now - step.up;
        store = inferenceOf(5);
        restarts++;
        // Without any chunk it would start half full.
        if (saved.length > 0) expect(restore(store, saved, wallNow(), monotonic()).refused).toEqual([]);
        check();
      }
      for (const rest of [59_990, 500, 500, 500, dayMs - 70_000, 300_000, 300_000, 300_000]) {
        now += rest;
        check();
      }
    }),
    { numRuns: 300 },
  );
});
