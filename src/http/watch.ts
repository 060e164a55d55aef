import type { Endpoint } from './endpoint.ts';
import type { RequestHead } from './request/head.ts';
import type { Watched } from './route.ts';

/** What of a request's headers may be looked at. */
export type WatchedHead = Pick<RequestHead, 'requestId' | 'method' | 'path' | 'fields'>;

/**
 * Whoever measures requests, writes them down or traces them. A server without one asks of a request whether it is watched
 * five or six times, and nothing else. None of this may throw.
 */
export interface Watch<P> {
  /** A request has arrived. @param target undefined where no route takes it */
  begin(head: WatchedHead, target: Endpoint | undefined): Watched<P>;
}
