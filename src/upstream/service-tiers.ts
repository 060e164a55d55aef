/** What a service tier may be called, by whoever declares its prices and by the upstream that tells of it. */
export const tierName = /^[a-z][a-z0-9_-]{0,31}$/;

/** How requests are served usually: no tier of its own. */
export const usualTiers: readonly string[] = ['default', 'standard', 'auto'];
