import { expect, test } from 'vitest';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { onSignal } from '../../src/telemetry.ts';
import { event } from '../support/events.ts';

const on = (stream: string): Recorded => ({ ...event(1), stream, revision: 0, position: 1n });

test('what is ours goes on, what is not is passed over, and what looks like ours is told once a stream', () => {
  const ours = oursOf(({ stream }) => (stream === 'a-1' ? 'ours' : stream.startsWith('a-') ? 'like-ours' : 'foreign'));
  const told: unknown[] = [];
  const stop = onSignal((name, signal) => told.push([name, signal]));
  expect(ours([on('a-1'), on('b-1'), on('a-2')]).map(({ stream }) => stream)).toEqual(['a-1']);
  expect(ours([on('a-2'), on('b-1'), on('a-1')]).map(({ stream }) => stream)).toEqual(['a-1']);
  stop();
  expect(told).toEqual([['stream.passed_over', { stream: 'a-2', type: 'sample.counted' }]]);
});

test('it warns of a thousand streams and no more', () => {
  const ours = oursOf(() => 'like-ours');
  let told = 0;
  const stop = onSignal(() => told++);
  for (let n = 0; n < 1_001; n++) expect(ours([on(`a-${n}`)])).toEqual([]);
  stop();
  expect(told).toBe(1_000);
});
