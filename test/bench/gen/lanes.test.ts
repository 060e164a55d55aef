import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Lanes } from '../../../bench/gen/lanes.ts';

test('keeps exactly so many tasks in flight, and none when it has stopped', async () => {
  let inFlight = 0;
  let most = 0;
  const lanes = new Lanes(10, async () => {
    most = Math.max(most, ++inFlight);
    await turn();
    inFlight--;
  });
  while (lanes.done < 100) await turn();
  await lanes.stop();
  expect(most).toBe(10);
  expect(inFlight).toBe(0);
  expect(lanes.failure).toBeUndefined();
});

test('ends with the first task that fails, and does not count it', async () => {
  let tasks = 0;
  const lanes = new Lanes(3, async () => {
    await turn();
    if (++tasks === 20) throw new Error('no');
  });
  while (lanes.failure === undefined) await turn();
  await lanes.stop();
  expect(lanes.failure.message).toBe('no');
  expect(lanes.done).toBe(tasks - 1);
});
