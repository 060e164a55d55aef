import { type Code, isRefusal, type Refusal, refusal } from '../../errors.ts';
import { familyOf } from '../error-envelopes.ts';
import { Refused, refusalOf } from '../refused.ts';
import { type Framing, frame, unframed } from '../request/framing.ts';
import type { RequestHead } from '../request/head.ts';
import { type Family, noNeed, type RateLimitLease, unknownNeed, type Watched } from '../route.ts';
import { announcesTrailers, type Endpoint, readBody } from '../routing/endpoint.ts';
import type { Match } from '../routing/router.ts';
import { Admission, admit, needOf, unrouted } from './admission.ts';
import { maxDropped, noBytes, RequestBody } from './request-body.ts';
import { type Exchanging, ServedCall } from './served-call.ts';
import type { Traffic } from './traffic.ts';

const hasSeldomBody = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

/** What comes in: a head, what the gate and the schemas say of it, and a body. */
export class IncomingRequest<P> {
  readonly head: RequestHead;
  readonly target: Endpoint | undefined;
  /** Undefined until a credential is identified. */
  lease: RateLimitLease<P> | undefined;
  /** Nothing after it may be read, as where its own end is in doubt. */
  isLast = true;
  private readonly traffic: Traffic<P>;
  private readonly match: Match<Endpoint> | undefined;
  private framing: Framing = unframed;
  /** Undefined while a limit has refused and the body is still read: its tokens decide `Retry-After`. */
  private verdict: Admission<P> | Refusal | undefined;
  private body: RequestBody | undefined;

  constructor(traffic: Traffic<P>, head: RequestHead, match: Match<Endpoint> | undefined) {
    this.traffic = traffic;
    this.head = head;
    this.match = match;
    this.target = match?.place.methods.get(head.method);
  }

  get family(): Family {
    const { head, match } = this;
    const answering = this.target ?? match?.place.methods.values().next().value;
    if (answering === undefined) return familyOf(head.path);
    const { family, versionedFamily = family } = answering.route;
    return versionedFamily === family || head.header('anthropic-version') === undefined ? family : versionedFamily;
  }

  /** Header lines for pages of other origins. */
  get originLines(): string {
    const { cors } = this.traffic;
    if (cors === undefined || (this.target ?? this.match?.place.methods.get('OPTIONS'))?.crossOrigin === false)
      return '';
    return cors.lines(this.head.header('origin'));
  }

  /** The organization's id, or empty. */
  get organization(): string {
    return this.lease?.organization ?? '';
  }

  get hasBody(): boolean {
    return this.framing.framed;
  }

  get isChunked(): boolean {
    return this.framing.chunked;
  }

  judge(): void {
    try {
      this.verdict = this.judged();
    } catch (error) {
      this.verdict = refusalOf(error, this.head.requestId);
    }
  }

  private judged(): Admission<P> | Refusal | undefined {
    const { match, target, head } = this;
    const framing = frame(head.fields);
    if (isRefusal(framing)) return framing;
    this.framing = framing;
    const { draining } = this.traffic;
    // uWebSockets mis-reads some chunks, and may miss a length: what follows may not be a request.
    this.isLast = draining || framing.chunked || (!framing.framed && !hasSeldomBody(head.method));
    if (draining && !target?.route.whileDraining) return refusal('server_shutting_down');
    const met = this.meet();
    if (met !== undefined) {
      if (isRefusal(met)) return met;
      this.lease = met;
      if (met.limited) return target?.route.tokens && framing.framed ? undefined : met.refusal(noNeed);
    }
    if (match === undefined || target === undefined) return unrouted(match, head);
    // A route without a credential has no principal.
    return met?.denied ?? admit(target, match, head, framing, met?.principal as P);
  }

  private meet(): RateLimitLease<P> | Refusal | undefined {
    const { match, target, head } = this;
    const { gate } = this.traffic;
    if (target === undefined) return gate.meet(head, match?.place.methods.values().next().value?.route.access);
    const { route } = target;
    return 'permission' in route.access ? gate.judge(head, route.access, route) : undefined;
  }

  /** Returns the refusal of a body that is not worth reading. */
  expectBody(): Refusal | undefined {
    const { target, verdict, traffic, framing } = this;
    let most = 0;
    if (target && target.method !== 'GET') {
      if (verdict === undefined) most = maxDropped;
      else if (verdict instanceof Admission) most = target.bodyLimit;
    }
    this.body = new RequestBody(most, framing.length, traffic.bodies, this.organization);
    // At once, because trailers would end the connection before the answer.
    const isEarly = framing.length > maxDropped || announcesTrailers(framing, this.head);
    return !(verdict instanceof Admission) && isEarly ? this.unread('request_too_large') : undefined;
  }

  /** Returns the refusal of a body of which nothing more is to be read. */
  receive(chunk: ArrayBuffer, isLast: boolean): Refusal | undefined {
    const refused = this.body!.add(chunk, isLast);
    if (refused) this.verdict = this.verdict === undefined ? this.lease!.refusal(unknownNeed) : refused;
    return this.body!.isTooMuch ? this.unread('request_too_large') : undefined;
  }

  /** The refusal before the body is complete. @param code if the headers have not led to another */
  unread(code: Code): Refusal {
    const { verdict } = this;
    if (verdict === undefined) return this.lease!.refusal(unknownNeed);
    return verdict instanceof Admission ? refusal(code) : verdict;
  }

  /** Once all of it has arrived. */
  call(exchange: Exchanging, watched: Watched<P> | undefined): ServedCall<P> | Refusal {
    const { verdict, target, lease, framing, head } = this;
    const bytes = this.body?.take() ?? noBytes;
    if (verdict === undefined && lease && target)
      return lease.refusal(needOf(target, head, framing, bytes, lease.principal));
    if (!(verdict instanceof Admission) || !target)
      return verdict && isRefusal(verdict) ? verdict : refusal('internal_error');
    // Only a body takes time, in which the credential may change.
    if (framing.framed && lease && (lease.dated || this.traffic.gate.isTooOld)) {
      const now = this.traffic.gate.judgeAgain(head, target.route.access, target.route);
      if (isRefusal(now)) {
        this.release();
        return now;
      }
      verdict.principal = now.principal;
    }
    const body = framing.framed || target.body ? readBody(target, bytes, verdict.principal) : undefined;
    return body instanceof Refused ? body.refusal : new ServedCall(exchange, verdict, body, lease, watched);
  }

  /** Of the memory of its body. */
  release(): void {
    this.body?.release();
  }
}
