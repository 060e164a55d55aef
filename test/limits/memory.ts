import { expect } from 'vitest';
import { requestsPerDay, tokensPerDay, tokensPerMinute } from '../../src/limits/record/metrics.ts';
import type { World } from './world.ts';

/** What holds at any moment: sums are sums of buckets, and in flight is what tickets are open. */
export const checkMemory = ({ store, held }: World): void => {
  const inFlight = new Map<string, number>();
  for (const { who, ofModel } of held) {
    if (ofModel !== null) inFlight.set(`3:${ofModel}`, (inFlight.get(`3:${ofModel}`) ?? 0) + 1);
    for (const [scope, id] of who.entries()) inFlight.set(`${scope}:${id}`, (inFlight.get(`${scope}:${id}`) ?? 0) + 1);
  }
  expect(store.tickets.open).toBe(held.length);
  for (const record of store.all()) {
    for (const metric of [tokensPerMinute, requestsPerDay, tokensPerDay]) {
      let sum = 0;
      record.forEachBucket(metric, (_, amount) => {
        sum += amount;
      });
      expect(record.used(metric)).toBe(sum);
    }
    const { gaps } = record.attempts(store.time);
    expect(gaps.reduce((span, gap) => span + gap, 0)).toBeLessThan(60_000);
    const { scope, isOfModel } = record.kind;
    const name = isOfModel ? `3:${record.parent!.id}/${record.id}` : `${scope}:${record.id}`;
    expect(record.inFlight).toBe(inFlight.get(name) ?? 0);
  }
};
