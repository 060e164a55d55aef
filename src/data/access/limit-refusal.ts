import { type Refusal, refusal } from '../../errors.ts';
import type { Wait } from '../../limits/http/retry-after.ts';
import type { MetricName, ScopeName } from '../../limits/record/metrics.ts';

/** `line`: a key whose windows other keys share. */
type Whose = ScopeName | 'line';

const whose: Readonly<Record<Whose, string>> = {
  key: 'this API key',
  line: 'this API key, together with those that it was rotated from or to,',
  credential: 'this credential',
  project: 'the project',
  organization: 'the organization',
};

/** Behind one, and behind any other number. */
const what: Readonly<Record<MetricName, readonly [string, string]>> = {
  requests_per_minute: ['request per minute', 'requests per minute'],
  requests_per_day: ['request per day', 'requests per day'],
  concurrent_requests: ['concurrent request', 'concurrent requests'],
  tokens_per_minute: ['token per minute', 'tokens per minute'],
  tokens_per_day: ['token per day', 'tokens per day'],
};

const counted = (count: number, [one, others]: readonly [string, string]): string =>
  `${count} ${count === 1 ? one : others}`;

const inTime = (seconds: number): string => `Try again in ${counted(seconds, ['second', 'seconds'])}.`;

const refused = (reason: string, seconds: number): Refusal =>
  refusal('rate_limit_exceeded', {
    message: `Rate limit exceeded: ${reason}. ${inTime(seconds)}`,
    headers: { 'Retry-After': String(seconds) },
  });

class SaidOf {
  /** By whole seconds to wait. */
  readonly last = new Array<Said | undefined>(remembered).fill(undefined);
  count = 0;
}

interface Said {
  readonly limit: number;
  readonly model: string | null;
  readonly seconds: number;
  readonly refusal: Refusal;
}

/** A power of two above 60. */
const remembered = 64;

/** Cached by scope, metric and seconds: a flood repeats few sentences, and a refusal must cost less than an answer. */
const said = new Map(
  Object.keys(whose).map((scope) => [scope, new Map(Object.keys(what).map((metric) => [metric, new SaidOf()]))]),
);

/** Names scope, model, metric, limit and seconds (contract F.6). @param shares whether the key's windows are its line's */
export const limitRefusal = ({ scope, metric, limit, model, seconds }: Wait, shares = false): Refusal => {
  const who: Whose = scope === 'key' && shares ? 'line' : scope;
  const of = said.get(who)!.get(metric)!;
  of.count += 1;
  const place = seconds & (remembered - 1);
  const last = of.last[place];
  if (last?.seconds === seconds && last.limit === limit && last.model === model) return last.refusal;
  const forModel = model === null ? '' : ` for ${model}`;
  const made = refused(`${whose[who]} is limited to ${counted(limit, what[metric])}${forModel}`, seconds);
  of.last[place] = { limit, model, seconds, refusal: made };
  return made;
};

/** For unknown credentials from one address (contract F.3). */
export const addressRefusal = (seconds: number): Refusal => {
  ofAddresses += 1;
  return refused('too many requests with unknown credentials came from this address', seconds);
};

let ofAddresses = 0;

/** Since the start, for limits that were named in a 429. */
export const limitRefusals = (): { readonly scope: string; readonly metric: string; readonly count: number }[] =>
  [
    ...[...said].flatMap(([scope, metrics]) => [...metrics].map(([metric, { count }]) => ({ scope, metric, count }))),
    { scope: 'address', metric: 'requests_per_minute', count: ofAddresses },
  ].filter(({ count }) => count > 0);
