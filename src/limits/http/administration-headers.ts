import type { Millis } from '../../clock.ts';
import { concurrentRequests, reason, requestsPerMinute } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import { recordOf } from '../window/records.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';

const metrics = [
  [requestsPerMinute, 'requests'],
  [concurrentRequests, 'concurrent_requests'],
] as const;

/**
 * The headers of an administration answer (contract F.5) as lines that begin with CR LF: the limit with the smallest part left;
 * on a 429 the longest-lasting of those that refused.
 * Unspecified: ties. The credential precedes the organization, and requests precede requests in flight.
 * @param why the limits that refused, 0 for none
 * @param ownOnly uses the credential's own windows only
 */
export const administrationLines = (
  store: WindowStore,
  who: LimitSubject,
  why: number,
  nowMs: Millis,
  wallMs: Millis,
  ownOnly = false,
): string => {
  const { scopes, time } = store;
  time.set(nowMs);
  const key = recordOf(store, who);
  let best = Number.POSITIVE_INFINITY;
  let lines = '';
  for (let record: WindowRecord | null = key; record !== null; record = ownOnly ? null : record.parent) {
    record.advance(time);
    for (const [metric, name] of metrics) {
      if (why !== 0 && (why & reason(metric, record.kind.scope)) === 0) continue;
      const limit = record.limit(metric);
      const left = Math.max(0, limit - record.used(metric));
      const inMs = metric === concurrentRequests ? 1000 : record.resetIn(metric, time);
      const rank = why === 0 ? left / limit : metric === concurrentRequests ? 0 : -inMs;
      if (rank >= best) continue;
      best = rank;
      const reset = Math.ceil((wallMs + inMs) / 1000);
      lines =
        `\r\nX-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${left}\r\nX-RateLimit-Reset: ${reset}` +
        `\r\nX-RateLimit-Scope: ${scopes[record.kind.scope]}\r\nX-RateLimit-Metric: ${name}`;
    }
  }
  return lines;
};
