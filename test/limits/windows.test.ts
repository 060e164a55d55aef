import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { checkMemory } from './memory.ts';
import { histories, live } from './operations.ts';
import { World } from './world.ts';

vi.setConfig({ testTimeout: 600_000 });

/** LIMITS_OPERATIONS=300000 is the long form. */
const wanted = Number(process.env.LIMITS_OPERATIONS ?? 60_000);
const perHistory = 250;

const many = (operations: number) => {
  let done = 0;
  let refusals = 0;
  while (done < operations) {
    fc.assert(
      fc.property(histories(perHistory), (history) => {
        const world = new World();
        live(world, history);
        checkMemory(world);
        done += world.operations;
        refusals += world.refusals;
      }),
      { numRuns: 40 },
    );
  }
  return { done, refusals };
};

test('agree with plain lists over any history: admissions, waits, headers, inspections, memory', () => {
  const { done, refusals } = many(wanted * 0.9);
  expect(done).toBeGreaterThanOrEqual(wanted * 0.9);
  expect(refusals).toBeGreaterThan(wanted / 50);
});
