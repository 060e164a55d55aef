import type { Millis } from '../../clock.ts';
import { requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import type { WindowTime } from '../record/time.ts';
import { countedWith } from '../window/models.ts';
import { recordOf } from '../window/records.ts';
import { type Counted, nextOf } from '../window/ticket.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';
import { inDigits, inSeconds } from './digits.ts';
import { tightest } from './tightest.ts';

// The quota headers of an answer (contract F.5), as lines that begin with CR LF and do not end with it.

/** The records that a request was counted in, with their windows advanced. */
const look = (
  store: WindowStore,
  who: LimitSubject,
  nowMs: Millis,
  ownOnly: boolean,
  model: string | null = null,
): Counted => {
  store.time.set(nowMs);
  const counted = ownOnly ? { key: recordOf(store, who), outer: null } : countedWith(store, who, model);
  for (let record: WindowRecord | null = counted.key; record !== null; record = nextOf(counted, record)) {
    record.advance(store.time);
  }
  return counted;
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

const requestLines = (counted: Counted, { time }: WindowStore): string => {
  const { record, metric } = tightest(counted, requestsPerMinute, requestsPerDay);
  return rest(record, metric, time, 'requests');
};

const tokenLines = (counted: Counted, { time, scopes }: WindowStore): string => {
  const { record, metric } = tightest(counted, tokensPerMinute, tokensPerDay);
  const lines = rest(record, metric, time, 'tokens');
  return scopes[record.kind.scope] === 'project' ? lines + rest(record, metric, time, 'project-tokens') : lines;
};

/**
 * Request and token headers of an inference answer.
 * @param ownOnly uses the key's own windows only
 * @param model whose windows it was counted in, if there are any
 */
export const quotaLines = (
  store: WindowStore,
  who: LimitSubject,
  nowMs: Millis,
  ownOnly = false,
  model: string | null = null,
): string => {
  const counted = look(store, who, nowMs, ownOnly, model);
  return requestLines(counted, store) + tokenLines(counted, store);
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
  requestLines(look(credits, creditWho, nowMs, ownOnly), credits) +
  tokenLines(look(inference, who, nowMs, ownOnly), inference);
