import type { Millis } from '../../clock.ts';
import { concurrentRequests, reason, requestsPerMinute } from '../window/reasons.ts';
import { resolve } from '../window/resolve.ts';
import { advance } from '../window/window.ts';
import type { LimitSubject, WindowStore } from '../window/window-store.ts';
import { limitOf, resetOf, usedOf } from './wait.ts';

const metrics = [
  [requestsPerMinute, 'requests'],
  [concurrentRequests, 'concurrent_requests'],
] as const;

/**
 * The headers of an administration answer as lines that begin with CR LF (contract F.5): of its four limits the one with
 * the smallest part left, and on a 429 of those that refused the one that lasts longest. `X-RateLimit-Reset` is the Unix
 * second, rounded up, at which more remains; for requests in flight, which nobody can foretell, one second on. A 429 has
 * `Retry-After` besides.
 *
 * Unspecified: ties. The credential comes before the organization and requests before requests in flight.
 *
 * @param why the limits that refused, 0 for none
 * @param wallMs the wall clock, for `X-RateLimit-Reset` alone
 * @param top the outermost scope of which is told: 0 is the credential alone
 */
export const administrationLines = (
  store: WindowStore,
  who: LimitSubject,
  why: number,
  nowMs: Millis,
  wallMs: Millis,
  top = store.top,
): string => {
  store.setNow(nowMs);
  resolve(store, who);
  let best = Number.POSITIVE_INFINITY;
  let lines = '';
  for (const [number, scope] of store.scopes.entries()) {
    if (number > top) break;
    const address = number === 0 ? store.keyAt : store.organizationAt;
    advance(store, address);
    for (const [metric, name] of metrics) {
      if (why !== 0 && (why & reason(metric, number)) === 0) continue;
      const limit = limitOf(store, address, metric);
      const left = Math.max(0, limit - usedOf(store, address, metric));
      const inMs = metric === concurrentRequests ? 1000 : resetOf(store, address, metric);
      const rank = why === 0 ? left / limit : metric === concurrentRequests ? 0 : -inMs;
      if (rank >= best) continue;
      best = rank;
      const reset = Math.ceil((wallMs + inMs) / 1000);
      lines =
        `\r\nX-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${left}\r\nX-RateLimit-Reset: ${reset}` +
        `\r\nX-RateLimit-Scope: ${scope}\r\nX-RateLimit-Metric: ${name}`;
    }
  }
  return lines;
};
