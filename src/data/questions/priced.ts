import type { Model } from '../upstream/models/models.ts';

export const isPricedIn = (
  { pricing, service_tier_pricing: tiers }: Model,
  costs: (prices: Model['pricing']) => boolean,
): boolean => costs(pricing) || (tiers !== undefined && Object.values(tiers).some(costs));
