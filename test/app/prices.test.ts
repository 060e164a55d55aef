import { expect, test } from 'vitest';
import { pricesOf } from '../../src/app/models/prices.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';

const declared = (pricing: object) =>
  pricesOf(
    loadModels(
      JSON.stringify({
        models: [{ id: 'm', context_length: 9, max_output_length: 9, pricing, upstream: { kind: 'simulated' } }],
      }),
      {},
    ),
  )[0]!.pricing;

test('input to and from the cache costs what other input does, unless it is said', () => {
  const free = { completion: '0', image: '0', request: '0' };
  expect(declared({ prompt: '0.01' })).toEqual({
    ...free,
    prompt: '0.01',
    input_cache_read: '0.01',
    input_cache_write: '0.01',
  });
  expect(declared({ prompt: '0.01', input_cache_read: '0', input_cache_write: '0.020', web_search: '1.0' })).toEqual({
    ...free,
    prompt: '0.01',
    input_cache_read: '0',
    input_cache_write: '0.02',
    web_search: '1',
  });
});

test('a service tier costs what is said of it, else what is said outside of it', () => {
  const { service_tiers } = declared({
    prompt: '0.01',
    completion: '0.05',
    input_cache_write: '0.02',
    web_search: '1',
    service_tiers: { priority: { prompt: '0.03', web_search: '0' }, flex: { input_cache_write: '0.015' } },
  });
  const usual = { completion: '0.05', image: '0', request: '0' };
  expect(service_tiers).toEqual({
    priority: { ...usual, prompt: '0.03', input_cache_read: '0.03', input_cache_write: '0.02', web_search: '0' },
    flex: { ...usual, prompt: '0.01', input_cache_read: '0.01', input_cache_write: '0.015', web_search: '1' },
  });
});
