import { describe, expect, test } from 'vitest';
import { whose } from '../../src/domain/streams.ts';
import { type Price, priceOf } from '../../src/domain/usage/charge.ts';
import { declaredPrices, declarePrices } from '../../src/usage/prices.ts';
import { free } from '../support/accounts.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

const clock = fixedClock(1_700_000_000_000);
const by = { actor: { type: 'operator', id: 'jo' } } as const;
const price = (model: string, prompt: string): Price => priceOf(model, { ...free, prompt });
const declare = (store: MemoryStore, ...prices: Price[]) => declarePrices(store, prices, by, clock);
const logged = async (store: MemoryStore): Promise<string[]> => {
  const found: string[] = [];
  for await (const { model, pricing } of declaredPrices(store)) found.push(`${model} ${pricing.prompt}`);
  return found;
};

describe('prices', () => {
  test('are recorded when they are new or others, and not when they are the same', async () => {
    const store = memoryStore();
    await declare(store, price('a', '1'), price('b', '2'));
    await declare(store, price('b', '2'), price('a', '1.0'));
    expect(await logged(store)).toEqual(['a 1', 'b 2']);
    await declare(store, price('a', '3'), price('b', '2'));
    await declare(store, price('b', '2'));
    await declare(store, price('a', '1'));
    expect(await logged(store)).toEqual(['a 1', 'b 2', 'a 3', 'a 1']);
    expect(store.log.map(whose)).toEqual(['ours', 'ours', 'ours', 'ours']);
    expect(store.log[0]!.data).toEqual({ price: price('a', '1').id, model: 'a', pricing: price('a', '1').pricing });
    expect(store.log[0]!.metadata.actor).toEqual(by.actor);
  });

  test('are recorded once by gateways that start at the same time', async () => {
    const store = memoryStore({ delay: () => new Promise((resolve) => setImmediate(resolve)) });
    await Promise.all(Array.from({ length: 5 }, () => declare(store, price('a', '1'), price('b', '2'))));
    expect(await logged(store)).toEqual(['a 1', 'b 2']);
  });
});
