import type { Millis } from '../../clock.ts';
import { requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowTime } from '../record/time.ts';
import { recordOf } from '../window/records.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';
import { inDigits, inSeconds } from './digits.ts';
import { tightest } from './tightest.ts';

/**
 * The quota headers of an answer (contract F.5), as lines that begin with CR LF and have none at their end, ready to be
 * joined to others: numbers, and names of this file. All of them describe the state at `nowMs`.
 */

/** The key's record, with its windows and those around it moved to `nowMs`. */
const look = (store: WindowStore, who: LimitSubject, nowMs: Millis): WindowRecord => {
  store.time.set(nowMs);
  const key = recordOf(store, who);
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) record.advance(store.time);
  return key;
};

/** The lines up to the number that remains, by subject and limit: a handful of limits, so they are built once. */
const openings = {
  requests: new Map<number, string>(),
  tokens: new Map<number, string>(),
  'project-tokens': new Map<number, string>(),
};

const opening = (subject: keyof typeof openings, limit: number): string => {
  const byLimit = openings[subject];
  let text = byLimit.get(limit);
  if (text === undefined) {
    // Limits come from configuration; a process that is reconfigured for ever must not collect them for ever.
    if (byLimit.size >= 1000) byLimit.clear();
    text = `\r\nx-ratelimit-limit-${subject}: ${limit}\r\nx-ratelimit-remaining-${subject}: `;
    byLimit.set(limit, text);
  }
  return text;
};

/** What remains of a window and when that grows, behind the lines that open it. */
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

/**
 * Request and token headers of an inference answer, errors and streams included.
 * @param ownOnly tells of the key's own windows alone
 */
export const quotaLines = (store: WindowStore, who: LimitSubject, nowMs: Millis, ownOnly = false): string => {
  const key = look(store, who, nowMs);
  return requestLines(key, store, ownOnly) + tokenLines(key, store, ownOnly);
};

/** The headers of `GET /v1/credits`: requests of its own limits, tokens of inference. */
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
