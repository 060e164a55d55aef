import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chargeLines,
  microDollarsOf,
  mostMicroDollarsOf,
  type Pricing,
  priceOf,
  type Taken,
} from '../../src/domain/usage/charge.ts';
import type { Details } from '../../src/tokens.ts';
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

describe('what has a price of its own', () => {
  const usual = { ...free, prompt: '0.000003', completion: '0.000015', input_cache_write: '0.00000375' };
  const further = {
    input_cache_write_long: '0.000006',
    input_audio: '0.00004',
    output_audio: '0.00008',
    web_search: '0.01',
    file_search: '0.0025',
  };
  const tiers = { service_tiers: { flex: { ...usual, prompt: '0.0000015' }, fast: { ...usual, ...further } } };
  const used = { input_tokens: 1_000, output_tokens: 200, cache_creation_input_tokens: 400 };
  const details: Details = {
    input_cache_write_long: 300,
    input_audio: 100,
    output_audio: 50,
    web_search: 2,
    file_search: 4,
  };

  test('costs that, and no token counts twice', () => {
    const all = { ...used, details };
    expect(cost({ ...usual, ...further }, all)).toBe(
      900 * 3 + 100 * 40 + 375 + 300 * 6 + 150 * 15 + 50 * 80 + 2 * 10_000 + 4 * 2_500,
    );
  });

  test('costs what it is one of where nobody has declared it, and searches nothing', () => {
    expect(cost(usual, { ...used, details })).toBe(cost(usual, used));
  });

  test('costs what its service tier does, where that has prices', () => {
    const served = (service_tier: string) => cost({ ...usual, ...tiers }, { ...used, details: { service_tier } });
    expect(served('flex')).toBe(1_500 + 3_000 + 1_500);
    expect([served('priority'), served('constructor')]).toEqual([cost(usual, used), cost(usual, used)]);
    const fast = { ...used, details: { ...details, service_tier: 'fast' } };
    expect(cost({ ...usual, ...tiers }, fast)).toBe(cost({ ...usual, ...further }, { ...used, details }));
  });

  test('is nothing without a token', () => {
    expect(cost({ ...usual, ...further }, { details: { web_search: 3 } })).toBe(0);
  });

  test('has a line of its own, with its price', () => {
    const price = priceOf('m', { ...usual, ...tiers });
    const lines = chargeLines(price, taken({ ...used, details: { ...details, service_tier: 'fast' } }));
    expect(lines.map(({ kind, count, price: each }) => [kind, count, each])).toEqual([
      ['prompt', 900, '0.000003'],
      ['input_audio', 100, '0.00004'],
      ['input_cache_write', 100, '0.00000375'],
      ['input_cache_write_long', 300, '0.000006'],
      ['input_cache_read', 0, '0'],
      ['completion', 150, '0.000015'],
      ['output_audio', 50, '0.00008'],
      ['image', 0, '0'],
      ['request', 1, '0'],
      ['web_search', 2, '0.01'],
      ['file_search', 4, '0.0025'],
    ]);
    expect(chargeLines(price, taken(used)).map(({ kind }) => kind)).toEqual([
      'prompt',
      'input_cache_write',
      'input_cache_read',
      'completion',
      'image',
      'request',
    ]);
  });

  test('never costs more than what is held for it', () => {
    const decimals = fc.nat(10 ** 9).map((pico) => decimal(BigInt(pico)));
    const prices = fc.record(
      Object.fromEntries([...Object.keys(free), ...Object.keys(further)].map((kind) => [kind, decimals])),
    );
    const count = fc.nat(100_000);
    fc.assert(
      fc.property(
        prices,
        fc.dictionary(fc.constantFrom('flex', 'fast'), prices),
        fc.tuple(count, count, count, count, count, count, count, fc.nat(5), fc.nat(5), fc.nat(5)),
        fc.constantFrom(undefined, 'flex', 'fast', 'other'),
        (declared, service_tiers, [input, write, long, read, heard, output, spoken, web, file, images], tier) => {
          const price = priceOf('m', { ...declared, service_tiers } as unknown as Pricing);
          const used = taken({
            input_tokens: input + heard,
            cache_creation_input_tokens: write + long,
            cache_read_input_tokens: read,
            output_tokens: output + spoken,
            images,
            details: {
              ...(tier !== undefined && { service_tier: tier }),
              input_cache_write_long: long,
              input_audio: heard,
              output_audio: spoken,
              web_search: web,
              file_search: file,
            },
          });
          const most = taken({
            input_tokens: input + heard + write + long + read,
            output_tokens: output + spoken,
            images,
            details: { web_search: web + file },
          });
          const charged = microDollarsOf(price, used);
          expect(charged).toBeLessThanOrEqual(mostMicroDollarsOf(price, most));
          const sum = chargeLines(price, used).reduce((all, line) => all + line.pico, 0n);
          expect(BigInt(charged)).toBe((sum + 500_000n) / 1_000_000n);
        },
      ),
    );
  });
});

describe('the id of a price', () => {
  test('is what it was before there were further prices, and another with any of them', () => {
    const old = priceOf('m', { ...free, prompt: '0.000003' });
    expect(old.id).toBe('price_ec1da0bfb934d1b3b8c970c6');
    const ids = [
      old,
      priceOf('m', { ...free, prompt: '0.000003', web_search: '0' }),
      priceOf('m', { ...free, prompt: '0.000003', file_search: '0' }),
      priceOf('m', { ...free, prompt: '0.000003', service_tiers: { flex: free } }),
      priceOf('m', { ...free, prompt: '0.000003', service_tiers: { fast: free } }),
    ].map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
  });
  test('is the same when it comes back from the log', () => {
    const tiers = { fast: { ...free, output_audio: '1.0' }, batch: free };
    const one = priceOf('m', { ...free, service_tiers: tiers, web_search: '0.010' });
    const logged = JSON.parse(JSON.stringify(one.pricing)) as Pricing;
    expect(priceOf('m', logged)).toEqual(one);
    expect(priceOf('m', { ...free, web_search: '0.01', service_tiers: { batch: free, fast: tiers.fast } }).id).toBe(
      one.id,
    );
  });
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
