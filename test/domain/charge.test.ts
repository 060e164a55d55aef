import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chargeLines, microDollarsOf, type Pricing, priceOf, type Taken } from '../../src/domain/charge.ts';
import { free } from '../support/accounts.ts';

const taken = (more: Partial<Taken> = {}): Taken => ({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  images: 0,
  ...more,
});
const cost = (pricing: Partial<Pricing>, used: Partial<Taken>): number =>
  microDollarsOf(priceOf('m', { ...free, ...pricing }), taken(used));

/** A plain decimal with this many units of 10^-12. */
const decimal = (pico: bigint): string => {
  const digits = String(pico).padStart(13, '0');
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
};

describe('a charge', () => {
  test('is the sum over the kinds, each at its own price', () => {
    const pricing = {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      image: '0.001',
      request: '0.01',
    };
    const used = {
      input_tokens: 1_000,
      output_tokens: 200,
      cache_read_input_tokens: 10_000,
      cache_creation_input_tokens: 400,
      images: 2,
    };
    expect(cost(pricing, used)).toBe(3_000 + 3_000 + 3_000 + 1_500 + 2_000 + 10_000);
    for (const kind of Object.keys(pricing) as (keyof typeof pricing)[]) {
      expect(cost({ [kind]: pricing[kind] }, used)).toBeGreaterThan(0);
    }
  });

  test('is rounded once, half a micro-dollar upwards', () => {
    expect(cost({ prompt: '0.000000499999' }, { input_tokens: 1 })).toBe(0);
    expect(cost({ prompt: '0.0000005' }, { input_tokens: 1 })).toBe(1);
    expect(cost({ prompt: '0.000001499999' }, { input_tokens: 1 })).toBe(1);
    // Rounded by kind these would be two.
    expect(cost({ prompt: '0.0000005', completion: '0.0000005' }, { input_tokens: 1, output_tokens: 1 })).toBe(1);
    expect(cost({ prompt: '0.0000004', completion: '0.0000004' }, { input_tokens: 1, output_tokens: 1 })).toBe(1);
  });

  test('is nothing for a request that took no token, however many images it had', () => {
    expect(cost({ request: '1', image: '1' }, { images: 3 })).toBe(0);
    expect(cost({ request: '1', image: '1' }, { images: 3, output_tokens: 1 })).toBe(4_000_000);
  });

  test('is exact where doubles are not', () => {
    // 0.1 + 0.2, and a product beyond 2^53.
    expect(cost({ prompt: '0.1', completion: '0.2' }, { input_tokens: 1, output_tokens: 1 })).toBe(300_000);
    expect(cost({ prompt: '0.000000000001' }, { input_tokens: 9_007_199_254_740_991 })).toBe(9_007_199_255);
    // Half a micro-dollar less one pico-dollar above a whole one: a double would round it up.
    const beyond = { input_tokens: Number.MAX_SAFE_INTEGER };
    expect(cost({ prompt: '0.000000000001', request: '0.000745759008' }, beyond)).toBe(9_007_200_000);
    expect(cost({ prompt: '999999' }, { input_tokens: Number.MAX_SAFE_INTEGER })).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('never differs from the same sum in fractions, and its lines add up to it', () => {
    // As they are in life, around 2^53, and far beyond.
    const pico = fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 8n }), fc.bigInt({ min: 0n, max: 10n ** 15n }));
    const count = fc.oneof(fc.nat(100_000), fc.integer({ min: 0, max: 2 ** 31 }));
    fc.assert(
      fc.property(fc.tuple(pico, pico, pico, pico, pico, pico), fc.tuple(count, count, count, count, count), (p, n) => {
        const [prompt, completion, input_cache_read, input_cache_write, image, request] = p.map(decimal) as string[];
        const declared = { prompt, completion, input_cache_read, input_cache_write, image, request };
        const price = priceOf('m', declared as unknown as Pricing);
        const used = taken({
          input_tokens: n[0],
          output_tokens: n[1],
          cache_read_input_tokens: n[2],
          cache_creation_input_tokens: n[3],
          images: n[4],
        });
        const isUsed = n.slice(0, 4).some((each) => each > 0);
        const exact =
          p[0] * BigInt(n[0]) +
          p[1] * BigInt(n[1]) +
          p[2] * BigInt(n[2]) +
          p[3] * BigInt(n[3]) +
          (isUsed ? p[4] * BigInt(n[4]) + p[5] : 0n);
        expect(chargeLines(price, used).reduce((sum, line) => sum + line.pico, 0n)).toBe(exact);
        const rest = exact % 1_000_000n;
        const rounded = exact / 1_000_000n + (rest >= 500_000n ? 1n : 0n);
        expect(microDollarsOf(price, used)).toBe(
          rounded > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(rounded),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('the id of a price', () => {
  test('is the same for the same numbers, however they are written', () => {
    const one = priceOf('m', { ...free, prompt: '0.10', completion: '1.0' });
    expect(priceOf('m', { ...free, prompt: '0.1', completion: '1' }).id).toBe(one.id);
    expect(one.id).toMatch(/^price_[0-9a-f]{24}$/);
  });
  test('is another for another model, and for any other number', () => {
    const ids = [
      priceOf('m', free),
      priceOf('n', free),
      ...Object.keys(free).map((kind) => priceOf('m', { ...free, [kind]: '0.000000000001' })),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(8);
  });
});
