/** For declared prices and reported tiers. */
export const tierName = /^[a-z][a-z0-9_-]{0,31}$/;

/** The usual service: no tier of its own. */
export const usualTiers: readonly string[] = ['default', 'standard', 'auto'];
