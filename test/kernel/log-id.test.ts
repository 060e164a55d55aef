import { expect, test } from 'vitest';
import { hasLogId, knownLogId, logIdOf, logIdStream } from '../../src/kernel/store/log-id.ts';
import { event } from '../support/events.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { memoryStore } from '../support/memory-store.ts';

const clock = fixedClock(0);

test('is drawn once, and is the same for all that begin at once', async () => {
  const store = memoryStore();
  const [one, two] = await Promise.all([logIdOf(store, clock), logIdOf(store, clock)]);
  expect(one).toBe(two);
  expect(await logIdOf(store, clock)).toBe(one);
  expect(store.log).toHaveLength(1);
});

test('is none that others have written onto the stream, before or behind it', async () => {
  const store = memoryStore();
  const theirs = [{}, { log_id: 7 }, { log_id: 'of my own' }].map((data) => ({
    ...event(1),
    id: crypto.randomUUID(),
    type: 'log.started',
    data,
  }));
  store.plantAsIs(logIdStream, theirs);
  expect(await hasLogId(store)).toBe(false);
  const id = await logIdOf(store, clock);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  store.plantAsIs(logIdStream, [{ ...theirs[0]!, data: { log_id: crypto.randomUUID() } }]);
  expect([await knownLogId(store), await logIdOf(store, clock)]).toEqual([id, id]);
});
