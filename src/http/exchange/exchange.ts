import { isRefusal, type Refusal, refusal } from '../../errors.ts';
import { familyOf } from '../error-envelopes.ts';
import { Refused } from '../refused.ts';
import { Body } from '../request/body.ts';
import { type Framing, frame, unframed } from '../request/framing.ts';
import type { RequestHead } from '../request/head.ts';
import type { Family, Need, RateLimitLease, Reply } from '../route.ts';
import { type Endpoint, judgeBodyHeaders, readBody, refusedBody } from '../routing/endpoint.ts';
import type { Match } from '../routing/router.ts';
import type { HttpResponse } from '../uws.ts';
import { Admission, checkRequest, unrouted } from './admission.ts';
import { ServedCall } from './served-call.ts';
import { StreamedAnswer } from './streamed-answer.ts';
import type { Traffic } from './traffic.ts';

/** Read of a refused body, so that the client sees the answer, or to count its tokens (contract F.2). */
const maxDropped = 1024 * 1024;
/** Bytes for each millisecond: a slower body falls behind; at most `bodyTimeoutMs` are saved up. */
const slowestUpload = 64;
const noBytes: Buffer = Buffer.alloc(0);

const hasSeldomBody = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

export class Exchange<P> extends StreamedAnswer<P> {
  private readonly match: Match<Endpoint> | undefined;
  private readonly target: Endpoint | undefined;
  private framing: Framing = unframed;
  /** Undefined after a limit's refusal until the body shows for how long. */
  private verdict: Admission<P> | Refusal | undefined;
  private body: Body | undefined;
  /** Body and answer bytes charged to the account until the request ends. */
  private held = 0;
  private heldOfAnswer = 0;
  private received = 0;
  private dropped = 0;

  constructor(traffic: Traffic<P>, response: HttpResponse, head: RequestHead, match: Match<Endpoint> | undefined) {
    super(traffic, response, head);
    this.match = match;
    this.target = match?.place.methods.get(head.method);
    this.watched = traffic.watch?.begin(head, this.target);
    if (traffic.cors !== undefined && (this.target ?? match?.place.methods.get('OPTIONS'))?.crossOrigin !== false)
      this.originLines = traffic.cors.lines(head.header('origin'));
    this.family = this.answeringFamily();
  }

  private answeringFamily(): Family {
    const { head, match } = this;
    const answering = this.target ?? match?.place.methods.values().next().value;
    if (answering === undefined) return familyOf(head.path);
    const { family, versionedFamily = family } = answering.route;
    return versionedFamily === family || head.header('anthropic-version') === undefined ? family : versionedFamily;
  }

  /** In the native callback; answers at once if no body can follow. */
  start(): void {
    try {
      this.open();
    } catch (error) {
      this.refuse(this.refusalOf(error));
    } finally {
      this.corked = false;
    }
  }

  abandon(): void {
    this.finish();
    this.response.close();
  }

  private open(): void {
    const { head } = this;
    const framing = frame(head.fields);
    if (isRefusal(framing)) {
      // The end of this request is in doubt: nothing after it may be read.
      this.closing = true;
      this.refuse(framing);
      return;
    }
    this.framing = framing;
    // uWebSockets mis-reads some chunks, and may miss a length: what follows may not be a request.
    this.closing = framing.chunked || (!framing.framed && !hasSeldomBody(head.method));
    const verdict = this.judge();
    this.verdict = verdict;
    if (!framing.framed) {
      // Called after the whole header block; without a length that is the last byte.
      this.complete(noBytes);
    } else if (!(verdict instanceof Admission) && framing.length > maxDropped) {
      this.read();
      this.closing = true;
      this.refuse(verdict ?? this.limitRefusal('unknown'));
    } else {
      this.read();
    }
  }

  private judge(): Admission<P> | Refusal | undefined {
    const { match, target, head } = this;
    if (this.traffic.draining) {
      this.closing = true;
      if (!target?.route.whileDraining) return refusal('server_shutting_down');
    }
    try {
      if (!match || !target) return this.judgeUnrouted();
      const { access, tokens } = target.route;
      // A route without a credential has no principal.
      let principal = undefined as P;
      if ('permission' in access) {
        const met = this.traffic.gate.judge(head, access, target.route);
        if (isRefusal(met)) return met;
        this.lease = met;
        if (met.limited) return tokens && this.framing.framed ? undefined : met.refusal(0);
        if (met.denied) return met.denied;
        principal = met.principal;
      }
      const verdict = checkRequest(target, match, head, principal);
      if (!(verdict instanceof Admission) || (!this.framing.framed && !target.body)) return verdict;
      return judgeBodyHeaders(target, (name) => head.header(name), this.framing) ?? verdict;
    } catch (error) {
      return this.refusalOf(error);
    }
  }

  private judgeUnrouted(): Refusal {
    const { match, head } = this;
    const met = this.traffic.gate.meet(head, match?.place.methods.values().next().value?.route.access);
    if (met !== undefined) {
      if (isRefusal(met)) return met;
      this.lease = met;
      if (met.limited) return met.refusal(0);
    }
    return unrouted(match, head);
  }

  private read(): void {
    this.listen();
    this.count();
    this.since = this.now();
    this.watched?.waits(this.since);
    this.arriving = true;
    this.response.onData((chunk, isLast) => {
      if (isLast) this.arriving = false;
      if (this.stage === 'lingering') this.discard(chunk.byteLength, isLast);
      if (this.stage !== 'reading' || this.gone) return;
      this.corked = true;
      try {
        this.receive(chunk, isLast);
      } catch (error) {
        this.refuse(this.refusalOf(error));
      }
      this.corked = false;
    });
  }

  private receive(chunk: ArrayBuffer, isLast: boolean): void {
    this.received += chunk.byteLength;
    if (!isLast) this.since = Math.min(this.now(), this.since + chunk.byteLength / slowestUpload);
    const most = this.wanted();
    if (most === 0) {
      this.drop(chunk.byteLength);
    } else {
      const refused = this.holdBody(chunk.byteLength, most);
      if (refused) {
        this.verdict = this.verdict === undefined ? this.limitRefusal('unknown') : refused;
        this.release();
        this.drop(this.received);
      } else if (isLast && this.body === undefined) {
        // A body in one piece is parsed in place.
        this.complete(Buffer.from(chunk));
      } else {
        this.body ??= new Body(this.framing.length === -1 ? most : this.framing.length);
        this.body.add(new Uint8Array(chunk));
      }
    }
    if (isLast && this.stage === 'reading') this.complete(this.body?.bytes ?? noBytes);
  }

  /** Returns 413, or 503 if requests in flight hold too much. */
  private holdBody(bytes: number, most: number): Refusal | undefined {
    if (this.held + bytes > most) return refusedBody(most);
    const refused = this.traffic.bodies.take(this.account, bytes);
    if (refused === undefined) this.held += bytes;
    return refused;
  }

  /** Returns the 503 if its answers hold too much. */
  hold(bytes: number): Refusal | undefined {
    // The request is over and its upstream stopped: it would release nothing.
    if (this.stage === 'done') return undefined;
    const refused = this.traffic.answers.take(this.account, bytes);
    if (refused === undefined) this.heldOfAnswer += bytes;
    return refused;
  }

  private get account(): string {
    return this.lease?.account ?? '';
  }

  /** Wanted bytes of the body; 0 if it is dropped. */
  private wanted(): number {
    const { target, verdict } = this;
    if (!target || target.method === 'GET') return 0;
    if (verdict === undefined) return maxDropped;
    return verdict instanceof Admission ? target.bodyLimit : 0;
  }

  private drop(bytes: number): void {
    this.dropped += bytes;
    if (this.dropped <= maxDropped) return;
    this.closing = true;
    const { verdict } = this;
    this.refuse(verdict === undefined || verdict instanceof Admission ? refusal('request_too_large') : verdict);
  }

  private limitRefusal(need: Need): Refusal {
    return this.lease === undefined ? refusal('internal_error') : this.lease.refusal(need);
  }

  /** None if the request is invalid anyway. */
  private needOf(pass: RateLimitLease<P>, target: Endpoint, bytes: Buffer): Need {
    const { head } = this;
    if (judgeBodyHeaders(target, (name) => head.header(name), this.framing)) return 0;
    const body = readBody(target, bytes, pass.principal);
    return body instanceof Refused ? 0 : target.route.tokens!({ head, principal: pass.principal, body });
  }

  private complete(bytes: Buffer): void {
    this.watched?.arrived();
    const { verdict, target, lease: pass } = this;
    if (verdict === undefined && pass && target) {
      this.refuse(pass.refusal(this.needOf(pass, target, bytes)));
      return;
    }
    if (!(verdict instanceof Admission) || !target) {
      this.refuse(verdict instanceof Admission || verdict === undefined ? refusal('internal_error') : verdict);
      return;
    }
    let admission = verdict;
    // Only a body takes time, in which the credential may change.
    if (this.framing.framed && pass && (pass.dated || this.traffic.gate.isTooOld)) {
      const now = this.traffic.gate.judgeAgain(this.head, target.route.access, target.route);
      if (isRefusal(now)) {
        this.release();
        this.refuse(now);
        return;
      }
      admission = new Admission(now.principal, verdict.params, verdict.query, verdict.found);
    }
    let body: unknown;
    if (this.framing.framed || target.body) {
      body = readBody(target, bytes, admission.principal);
      this.body = undefined;
      if (body instanceof Refused) {
        this.refuse(body.refusal);
        return;
      }
    }
    this.stage = 'handling';
    const reply: Reply | Promise<Reply> = target.route.handle(
      new ServedCall(this, admission, body, pass, this.watched),
    );
    if (!('then' in reply)) {
      this.answer(reply);
      return;
    }
    this.listen();
    this.count();
    // Audit entries need the address, perhaps after the client has left.
    if (this.family === 'admin') {
      this.head.keep();
      this.pause();
    }
    this.since = this.now();
    reply
      .then(
        (settled) => this.answer(settled),
        (error: unknown) => this.refuse(this.refusalOf(error)),
      )
      .catch((error: unknown) => this.refuse(this.refusalOf(error)));
  }

  override expire(now: number): void {
    if (this.stage !== 'reading') {
      super.expire(now);
    } else if (now - this.since >= this.traffic.bodyTimeoutMs) {
      const { verdict } = this;
      this.closing = true;
      if (verdict === undefined) this.refuse(this.limitRefusal('unknown'));
      else this.refuse(verdict instanceof Admission ? refusal('request_timeout') : verdict);
    } else {
      // uWebSockets would cut the connection without an answer; this restarts its timer.
      this.response.pause();
      this.response.resume();
    }
  }

  protected override release(): void {
    this.body = undefined;
    if (this.held > 0) this.traffic.bodies.give(this.account, this.held);
    if (this.heldOfAnswer > 0) this.traffic.answers.give(this.account, this.heldOfAnswer);
    this.held = 0;
    this.heldOfAnswer = 0;
  }
}
