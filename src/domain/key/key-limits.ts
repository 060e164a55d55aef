/** A key's own limits; null where the tier's holds (contract F.8). */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly requestsPerDay: number | null;
  readonly concurrentRequests: number | null;
}

/** As events and the API have them. */
export interface KeyLimitFields {
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly requests_per_day: number | null;
  readonly concurrent_requests: number | null;
}

export const noKeyLimits: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  requestsPerDay: null,
  concurrentRequests: null,
};

export const keyLimits = (
  fields: { readonly [K in keyof KeyLimitFields]?: number | null | undefined } | null | undefined,
): KeyLimits => ({
  requestsPerMinute: fields?.requests_per_minute ?? null,
  tokensPerMinute: fields?.tokens_per_minute ?? null,
  requestsPerDay: fields?.requests_per_day ?? null,
  concurrentRequests: fields?.concurrent_requests ?? null,
});

export const keyLimitFields = (limits: KeyLimits): KeyLimitFields => ({
  requests_per_minute: limits.requestsPerMinute,
  tokens_per_minute: limits.tokensPerMinute,
  requests_per_day: limits.requestsPerDay,
  concurrent_requests: limits.concurrentRequests,
});

export const areSameLimits = (a: KeyLimits, b: KeyLimits): boolean =>
  a.requestsPerMinute === b.requestsPerMinute &&
  a.tokensPerMinute === b.tokensPerMinute &&
  a.requestsPerDay === b.requestsPerDay &&
  a.concurrentRequests === b.concurrentRequests;
