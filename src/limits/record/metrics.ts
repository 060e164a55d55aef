/** By number; ties are named in this order. */
export const metricNames = [
  'requests_per_minute',
  'requests_per_day',
  'concurrent_requests',
  'tokens_per_minute',
  'tokens_per_day',
] as const;
export type MetricName = (typeof metricNames)[number];

export const requestsPerMinute = 0;
export const requestsPerDay = 1;
export const concurrentRequests = 2;
export const tokensPerMinute = 3;
export const tokensPerDay = 4;

/** From the innermost; names of the wire. */
export type ScopeName = 'key' | 'credential' | 'project' | 'organization';

/** A refusal: bit `metric * 3 + scope`, with the scope's number in its family. */
export const reason = (metric: number, scope: number): number => 1 << (metric * 3 + scope);

/** Metrics that refused at one scope, as bits of scope 0. */
export const minuteBit = reason(requestsPerMinute, 0);
export const dayBit = reason(requestsPerDay, 0);
export const concurrentBit = reason(concurrentRequests, 0);
export const minuteTokensBit = reason(tokensPerMinute, 0);
export const dayTokensBit = reason(tokensPerDay, 0);

/** Bits of scope 0 as bits of another. */
export const atScope = (bits: number, scope: number): number => bits << scope;
