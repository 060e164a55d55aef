import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { checkMemory } from './memory.ts';
import { histories, live } from './operations.ts';
import { World } from './world.ts';

vi.setConfig({ testTimeout: 600_000 });

/** LIMITS_OPERATIONS=300000 is the long form. */
const wanted = Number(process.env.LIMITS_OPERATIONS ?? 60_000);
const perHistory = 250;

test('agree with plain lists over any history: admissions, waits, headers, inspections, memory', () => {
  let done = 0;
  let refusals = 0;
  while (done < wanted) {
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
  expect(done).toBeGreaterThanOrEqual(wanted);
  expect(refusals).toBeGreaterThan(wanted / 50);
});
