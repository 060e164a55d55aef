import { isLack } from '../../src/data/account/claim.ts';
import type { Begun } from '../../src/data/account/journal/entry.ts';
import type { Meter } from '../../src/data/account/meter.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import type { OpenUsage } from '../../src/usage/usage.ts';
import { free } from '../support/accounts.ts';

/** Of the model that `begin` asks for. */
export const price = priceOf('m', { ...free, prompt: '0.000001', completion: '0.00001' });

/** Null where it has no credit, or cannot be written down. */
export const begin = async (book: OpenUsage, requestId: string): Promise<Meter | null> => {
  const meter = book.begin({
    requestId,
    organizationId: 'org_1',
    projectId: 'proj_1',
    keyId: 'key_1',
    line: 'key_1',
    model: 'm',
    api: 'messages',
    estimatedTokens: 100,
    maxTokens: 100,
    longest: 100,
    images: 0,
    searches: 0,
  });
  if (isLack(meter)) return null;
  return (await meter.opened()) ? meter : null;
};

/** What such a request has taken: 60 micro-dollars. */
export const usage = {
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

export const begun = (request_id: string, more: Partial<Begun> = {}): Begun => ({
  request_id,
  organization_id: 'org_1',
  project_id: 'proj_1',
  key_id: 'key_1',
  model: 'm',
  api: 'messages',
  price: 'price_1',
  asked_at: Date.UTC(2026, 10, 20, 12),
  input_tokens: 7,
  images: 0,
  micro_dollars: 21,
  ...more,
});

export const settlement = (request_id: string, more: Partial<Settlement> = {}): Settlement => ({
  request_id,
  organization_id: 'org_1',
  project_id: 'proj_1',
  key_id: 'key_1',
  model: 'm',
  api: 'messages',
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  images: 0,
  usage_source: 'final',
  price: 'price_1',
  micro_dollars: 105,
  status: 200,
  settled_at: Date.UTC(2026, 10, 20, 12),
  duration_ms: 3,
  first_token_ms: null,
  ...more,
});
