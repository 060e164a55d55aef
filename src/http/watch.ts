import type { Endpoint } from './endpoint.ts';
import type { RequestHead } from './request/head.ts';
import type { Meter, Metered } from './route.ts';
import type { TraceContext } from './trace-context.ts';

/** What of a request's headers may be looked at. */
export type WatchedHead = Pick<RequestHead, 'requestId' | 'method' | 'fields'>;

/**
 * Whoever measures requests, writes them down or traces them. A server without one asks of a request whether it is watched
 * five or six times, and nothing else. None of this may throw.
 */
export interface Watch<P> {
  /** A request has arrived. @param target undefined where no route takes it */
  begin(head: WatchedHead, target: Endpoint | undefined): Watched<P>;
}

/** One request, told of in this order; what does not happen is not told. */
export interface Watched<P> {
  /** Its headers have been judged, and a body may follow at the client's pace. */
  waits(): void;
  /** Its last byte has come. */
  arrived(): void;
  /** It is for this model, which is there. */
  aims(model: string): void;
  /** It is about to be given to its upstream. @returns the meter to be used from now on */
  asks(metered: Metered, meter: Meter): Meter;
  /** The head of its answer is written. */
  answers(status: number): void;
  /**
   * It is over. Told once.
   * @param principal whose credential it had, whether it works or not; undefined where nobody was identified
   */
  ends(principal: P | undefined): void;
  /** What its upstream gets of the trace: undefined where there is none of its own. */
  readonly trace: TraceContext | undefined;
}
