import type { Millis } from '../../clock.ts';
import { resolve } from '../window/resolve.ts';
import { advance } from '../window/window.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';
import { inDigits, inSeconds } from './digits.ts';
import { chooseTightest, tightest } from './tightest.ts';
import { limitOf, resetOf, usedOf } from './wait.ts';

/**
 * The quota headers of an answer (contract F.5), as lines that begin with CR LF and have none at their end, ready to be
 * joined to others: numbers, and names of this file. All of them describe the state at `nowMs`.
 */

/** Finds the records, moves their windows to `nowMs`, and chooses the tightest. */
const look = (store: WindowStore, who: LimitSubject, nowMs: Millis, top: number): void => {
  store.setNow(nowMs);
  resolve(store, who);
  advance(store, store.keyAt);
  if (store.projectAt >= 0) advance(store, store.projectAt);
  advance(store, store.organizationAt);
  chooseTightest(store, top);
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
const rest = (store: WindowStore, address: number, metric: number, limit: number, subject: keyof typeof openings) => {
  const left = limit - usedOf(store, address, metric);
  const reset = inSeconds(resetOf(store, address, metric));
  return `${opening(subject, limit)}${inDigits(Math.max(left, 0))}\r\nx-ratelimit-reset-${subject}: ${reset}`;
};

/** The lines of requests; `chooseTightest` has chosen. */
const requestLines = (store: WindowStore): string => {
  const { requestsAt, requestsMetric } = tightest;
  return rest(store, requestsAt, requestsMetric, limitOf(store, requestsAt, requestsMetric), 'requests');
};

const tokenLines = (store: WindowStore): string => {
  const { tokensAt, tokensMetric, tokensScope } = tightest;
  const limit = limitOf(store, tokensAt, tokensMetric);
  const lines = rest(store, tokensAt, tokensMetric, limit, 'tokens');
  if (store.scopes[tokensScope] !== 'project') return lines;
  return lines + rest(store, tokensAt, tokensMetric, limit, 'project-tokens');
};

/**
 * Request and token headers of an inference answer, errors and streams included.
 * @param top the outermost scope of which is told: 0 is the key alone
 */
export const quotaLines = (store: WindowStore, who: LimitSubject, nowMs: Millis, top = store.top): string => {
  look(store, who, nowMs, top);
  return requestLines(store) + tokenLines(store);
};

/** The headers of `GET /v1/credits`: requests of its own limits, tokens of inference. */
export const creditLines = (
  credits: WindowStore,
  creditWho: LimitSubject,
  inference: WindowStore,
  who: LimitSubject,
  nowMs: Millis,
  ownOnly = false,
): string => {
  look(credits, creditWho, nowMs, ownOnly ? 0 : credits.top);
  const requests = requestLines(credits);
  look(inference, who, nowMs, ownOnly ? 0 : inference.top);
  return requests + tokenLines(inference);
};

/** Header lines as an object, for callers that set headers one by one. */
export const asHeaders = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .slice(2)
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]),
  );
