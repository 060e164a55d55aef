import type { Millis } from '../../clock.ts';
import { requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowTime } from '../record/time.ts';
import { recordOf } from '../window/records.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';
import { inDigits, inSeconds } from './digits.ts';
import { tightest } from './tightest.ts';

// The quota headers of an answer (contract F.5), as lines that begin with CR LF and do not end with it.

/** The key's record, with its windows and those of the outer scopes advanced. */
const look = (store: WindowStore, who: LimitSubject, nowMs: Millis): WindowRecord => {
  store.time.set(nowMs);
  const key = recordOf(store, who);
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) record.advance(store.time);
  return key;
};

/** The lines before the remaining number, cached by subject and limit. */
const openings = {
  requests: new Map<number, string>(),
  tokens: new Map<number, string>(),
  'project-tokens': new Map<number, string>(),
};

const opening = (subject: keyof typeof openings, limit: number): string => {
  const byLimit = openings[subject];
  let text = byLimit.get(limit);
  if (text === undefined) {
    // Limits change at run time, so the cache is bounded.
    if (byLimit.size >= 1000) byLimit.clear();
    text = `\r\nx-ratelimit-limit-${subject}: ${limit}\r\nx-ratelimit-remaining-${subject}: `;
    byLimit.set(limit, text);
  }
  return text;
};

/** The rest of the lines of a window. */
const rest = (record: WindowRecord, metric: number, time: WindowTime, subject: keyof typeof openings): string => {
  const limit = record.limit(metric);
  const left = inDigits(Math.max(limit - record.used(metric), 0));
  const reset = inSeconds(record.resetIn(metric, time));
  return `${opening(subject, limit)}${left}\r\nx-ratelimit-reset-${subject}: ${reset}`;
};

const requestLines = (key: WindowRecord, { time }: WindowStore, ownOnly: boolean): string => {
  const { record, metric } = tightest(key, requestsPerMinute, requestsPerDay, ownOnly);
  return rest(record, metric, time, 'requests');
};

const tokenLines = (key: WindowRecord, { time, scopes }: WindowStore, ownOnly: boolean): string => {
  const { record, metric } = tightest(key, tokensPerMinute, tokensPerDay, ownOnly);
  const lines = rest(record, metric, time, 'tokens');
  return scopes[record.kind.scope] === 'project' ? lines + rest(record, metric, time, 'project-tokens') : lines;
};

/** Request and token headers of an inference answer. @param ownOnly uses the key's own windows only */
export const quotaLines = (store: WindowStore, who: LimitSubject, nowMs: Millis, ownOnly = false): string => {
  const key = look(store, who, nowMs);
  return requestLines(key, store, ownOnly) + tokenLines(key, store, ownOnly);
};

/** The headers of `GET /v1/credits`: requests of its own family, tokens of inference. */
export const creditLines = (
  credits: WindowStore,
  creditWho: LimitSubject,
  inference: WindowStore,
  who: LimitSubject,
  nowMs: Millis,
  ownOnly = false,
): string =>
  requestLines(look(credits, creditWho, nowMs), credits, ownOnly) +
  tokenLines(look(inference, who, nowMs), inference, ownOnly);
