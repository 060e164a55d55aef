import { type Refusal, refusal } from '../errors.ts';
import type { MetricName } from '../limits/reasons.ts';
import type { Wait } from '../limits/retry-after.ts';
import type { ScopeName } from '../limits/window-store.ts';

const whose: Readonly<Record<ScopeName, string>> = {
  key: 'this API key',
  credential: 'this credential',
  project: 'the project',
  organization: 'the organization',
};

const what: Readonly<Record<MetricName, string>> = {
  requests_per_minute: 'requests per minute',
  requests_per_day: 'requests per day',
  concurrent_requests: 'concurrent requests',
  tokens_per_minute: 'tokens per minute',
  tokens_per_day: 'tokens per day',
};

const inTime = (seconds: number): string => `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;

const refused = (reason: string, seconds: number): Refusal =>
  refusal('rate_limit_exceeded', {
    message: `Rate limit exceeded: ${reason}. ${inTime(seconds)}`,
    headers: { 'Retry-After': String(seconds) },
  });

/** The 429 of a limit: scope, metric, limit and seconds are in the message (decisions F.6). */
export const limitRefusal = ({ scope, metric, limit, seconds }: Wait): Refusal =>
  refused(`${whose[scope]} is limited to ${limit} ${what[metric]}`, seconds);

/** The 429 of an address that sends unknown credentials (decisions F.3). */
export const addressRefusal = (seconds: number): Refusal =>
  refused('too many requests with unknown credentials came from this address', seconds);
