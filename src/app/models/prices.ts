import type { DeclaredModel, Model } from '../../data/upstream/models/models.ts';
import { type Price, type Prices, priceOf } from '../../domain/usage/charge.ts';

/** Cache writes cost as much as other input unless declared otherwise. */
const withWrites = (pricing: Model['pricing']): Prices =>
  ({ ...pricing, input_cache_write: pricing.input_cache_write ?? pricing.prompt }) as Prices;

export const pricesOf = (models: readonly DeclaredModel[]): readonly Price[] =>
  models.map(({ model: { id, pricing, service_tier_pricing: tiers } }) => {
    const each = Object.entries(tiers ?? {}).map(([name, own]) => [name, withWrites(own)]);
    return priceOf(id, { ...withWrites(pricing), ...(each.length > 0 && { service_tiers: Object.fromEntries(each) }) });
  });
