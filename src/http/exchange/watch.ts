import type { RequestHead } from '../request/head.ts';
import type { Watched } from '../route.ts';
import type { Endpoint } from '../routing/endpoint.ts';

export type WatchedHead = Pick<RequestHead, 'requestId' | 'method' | 'path' | 'fields'>;

/** Metrics, access log, traces. Without one a request costs five or six checks. Must not throw. */
export interface Watch<P> {
  /** @param target undefined without a route */
  begin(head: WatchedHead, target: Endpoint | undefined): Watched<P>;
}
