import type { Details } from '../../../tokens.ts';
import { tierName, usualTiers } from '../service-tiers.ts';

/** The reported service tier if it is a valid name and not the usual one. */
export const tierOf = (told: unknown): string | undefined =>
  typeof told === 'string' && !usualTiers.includes(told) && tierName.test(told) ? told : undefined;

export const detailsOf = (
  all: { readonly [name in keyof Details]: Details[name] | undefined },
): Details | undefined => {
  let details: Record<string, string | number> | undefined;
  for (const name in all) {
    const value = all[name as keyof Details];
    if (value === undefined || value === 0) continue;
    details ??= {};
    details[name] = value;
  }
  return details;
};

export const summedDetails = (one: Details = {}, other: Details = {}): Details | undefined => {
  const plus = (name: Exclude<keyof Details, 'service_tier'>): number => (one[name] ?? 0) + (other[name] ?? 0);
  return detailsOf({
    service_tier: one.service_tier ?? other.service_tier,
    input_cache_write_long: plus('input_cache_write_long'),
    input_audio: plus('input_audio'),
    output_audio: plus('output_audio'),
    web_search: plus('web_search'),
    file_search: plus('file_search'),
  });
};
