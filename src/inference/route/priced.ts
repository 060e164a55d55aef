import type { Model } from '../../upstream/models/models.ts';

/** Whether something has a price, in any of the ways in which the upstream may serve a request. */
export const isPricedIn = (
  { pricing, service_tier_pricing: tiers }: Model,
  costs: (prices: Model['pricing']) => boolean,
): boolean => costs(pricing) || (tiers !== undefined && Object.values(tiers).some(costs));
