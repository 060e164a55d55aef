import { afterEach, expect, test } from 'vitest';
import { catchingUp } from '../../src/kernel/followers/catching-up.ts';
import { folding } from '../../src/observability/log/folding.ts';
import { onSignal, type SignalName } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';
import { memoryStore } from '../support/memory-store.ts';

const cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

const toldOf = (): [SignalName, object][] => {
  const told: [SignalName, object][] = [];
  cleanUps.push(onSignal((name, signal) => void told.push([name, signal])));
  return told;
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what takes long is told every five seconds, with the way that is left, and its end', async () => {
  const store = memoryStore({ random: () => 0.5 });
  for (let i = 0; i < 100; i++) await store.append(`counter-${i}`, [event(i)], 'no_stream');
  const positions = store.log.map(({ position }) => position);
  const told = toldOf();
  let [now, done] = [0, 0];
  const progress = catchingUp(
    store,
    () => positions[done - 1] ?? null,
    () => now,
  );
  for (let second = 1; second <= 20; second++) {
    now = second * 1000;
    done += 5;
    progress.came(5);
    await turn();
  }
  progress.done();
  expect(told.map(([name]) => name)).toEqual([
    'projection.catching_up',
    'projection.catching_up',
    'projection.catching_up',
    'projection.catching_up',
    'projection.caught_up',
  ]);
  expect(told.map(([, signal]) => signal)).toMatchObject([
    { events: 15, seconds: 3 },
    { events: 40, seconds: 8 },
    { events: 65, seconds: 13 },
    { events: 90, seconds: 18 },
    { events: 100, seconds: 20 },
  ]);
  for (const [, signal] of told.slice(0, 4)) {
    const { events, percent } = signal as { events: number; percent: number };
    expect(percent).toBe(events);
  }
});

test('what does not take long is not told', async () => {
  const store = memoryStore();
  const told = toldOf();
  let now = 0;
  const progress = catchingUp(
    store,
    () => null,
    () => now,
  );
  now = 2_900;
  progress.came(1_000);
  await turn();
  progress.done();
  expect(told).toEqual([]);
});

test('a store whose end cannot be read is told of without percent', async () => {
  const told = toldOf();
  let now = 0;
  const store = {
    readAll() {
      throw new Error('the store is away');
    },
  };
  const progress = catchingUp(
    store as never,
    () => 5n,
    () => now,
  );
  now = 4_000;
  progress.came(7);
  await turn();
  expect(told).toEqual([['projection.catching_up', { events: 7, percent: null, seconds: 4 }]]);
});

test('each line of progress is written', () => {
  const lines: object[] = [];
  const { said } = folding(
    (_, signal) => void lines.push(signal),
    () => {},
  );
  for (const percent of [10, 20, 30]) said('projection.catching_up', { events: percent, percent, seconds: percent });
  expect(lines).toHaveLength(3);
});
