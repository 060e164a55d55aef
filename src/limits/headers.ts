import type { Millis } from '../clock.ts';
import { requestsPerDay, requestsPerMinute, tokensPerDay, tokensPerMinute } from './reasons.ts';
import { resolve } from './resolve.ts';
import { inSeconds } from './seconds.ts';
import { limitOf, resetOf, usedOf } from './wait.ts';
import { advance } from './window.ts';
import type { Counted, WindowStore } from './window-store.ts';

/**
 * The quota headers of an answer (decisions F.5), as lines that begin with CR LF and have none at their end, ready to be
 * joined to others: numbers, and names of this file. All of them describe the state at `nowMs`.
 */

const requestMetrics = [requestsPerMinute, requestsPerDay] as const;
const tokenMetrics = [tokensPerMinute, tokensPerDay] as const;

/** The window that was chosen last: its record and metric. One thread, so one of each will do. */
let chosenAt = -1;
let chosenMetric = 0;
let chosenScope = 0;
let chosenLimit = 0;
let leastLeft = 0;

/** Takes this window when less of it is left, as a part of its limit, than of the one chosen. */
const consider = (store: WindowStore, scope: number, address: number, metric: number): void => {
  const limit = limitOf(store, address, metric);
  if (limit === 0) return;
  // A true quotient, not a product with the inverse: equal parts of different limits have to be equal, or ties break wrong.
  const left = Math.max(0, limit - usedOf(store, address, metric)) / limit;
  if (left >= leastLeft) return;
  leastLeft = left;
  chosenAt = address;
  chosenMetric = metric;
  chosenScope = scope;
  chosenLimit = limit;
};

/** Chooses the tightest window: key before project before organization, minute before day where they are equal. */
const choose = (store: WindowStore, metrics: readonly [number, number]): void => {
  leastLeft = Number.POSITIVE_INFINITY;
  consider(store, 0, store.keyAt, metrics[0]);
  consider(store, 0, store.keyAt, metrics[1]);
  if (store.projectAt >= 0) {
    consider(store, 1, store.projectAt, metrics[0]);
    consider(store, 1, store.projectAt, metrics[1]);
  }
  consider(store, store.top, store.organizationAt, metrics[0]);
  consider(store, store.top, store.organizationAt, metrics[1]);
};

/** Finds the records and moves their windows to `nowMs`. */
const look = (store: WindowStore, who: Counted, nowMs: Millis): void => {
  store.setNow(nowMs);
  resolve(store, who);
  advance(store, store.keyAt);
  if (store.projectAt >= 0) advance(store, store.projectAt);
  advance(store, store.organizationAt);
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

const requestLines = (store: WindowStore): string => {
  choose(store, requestMetrics);
  const left = Math.max(0, chosenLimit - usedOf(store, chosenAt, chosenMetric));
  const reset = inSeconds(resetOf(store, chosenAt, chosenMetric));
  return `${opening('requests', chosenLimit)}${left}\r\nx-ratelimit-reset-requests: ${reset}`;
};

const tokenLines = (store: WindowStore): string => {
  choose(store, tokenMetrics);
  const left = Math.max(0, chosenLimit - usedOf(store, chosenAt, chosenMetric));
  const reset = inSeconds(resetOf(store, chosenAt, chosenMetric));
  const lines = `${opening('tokens', chosenLimit)}${left}\r\nx-ratelimit-reset-tokens: ${reset}`;
  if (store.scopes[chosenScope] !== 'project') return lines;
  return `${lines}${opening('project-tokens', chosenLimit)}${left}\r\nx-ratelimit-reset-project-tokens: ${reset}`;
};

/** Request and token headers of an inference answer, errors and streams included. */
export const quotaLines = (store: WindowStore, who: Counted, nowMs: Millis): string => {
  look(store, who, nowMs);
  return requestLines(store) + tokenLines(store);
};

/** The headers of `GET /v1/credits`: requests of its own limits, tokens of inference. */
export const creditLines = (
  credits: WindowStore,
  creditWho: Counted,
  inference: WindowStore,
  who: Counted,
  nowMs: Millis,
): string => {
  look(credits, creditWho, nowMs);
  const requests = requestLines(credits);
  look(inference, who, nowMs);
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
