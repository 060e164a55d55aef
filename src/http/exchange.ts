import { isRefusal, type Refusal, refusal } from '../errors.ts';
import { Admission, admit, unrouted } from './admission.ts';
import { Body } from './body.ts';
import { type Endpoint, judgeBodyHeaders, readBody } from './endpoint.ts';
import { type Framing, frame, unframed } from './framing.ts';
import type { RequestHead } from './head.ts';
import { Refused } from './refused.ts';
import type { Call, Reply } from './route.ts';
import type { Match } from './router.ts';
import { StreamedAnswer } from './streamed-answer.ts';
import type { Traffic } from './traffic.ts';
import type { HttpResponse } from './uws.ts';
import { familyOf } from './wire.ts';

/** Bytes of a refused body that are read and thrown away so that the client gets to see the answer. */
const maxDropped = 1024 * 1024;
/** Slowest upload, in bytes per millisecond, after the first `bodyTimeoutMs`. */
const slowestUpload = 64;
const noBytes: Buffer = Buffer.alloc(0);

/** The call as the handler sees it. A class, because an object literal with a getter costs a third of a microsecond. */
class ServedCall<P> implements Call<P, unknown, unknown, unknown, unknown> {
  readonly head: RequestHead;
  readonly principal: P;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly found: unknown;
  private readonly exchange: Exchange<P>;

  constructor(exchange: Exchange<P>, admission: Admission<P>, body: unknown) {
    this.head = exchange.head;
    this.principal = admission.principal;
    this.params = admission.params;
    this.query = admission.query;
    this.body = body;
    this.found = admission.found;
    this.exchange = exchange;
  }

  get signal(): AbortSignal {
    return this.exchange.signal();
  }
}

/** One request: judged at its headers, acted upon after its last byte (reliability.md 4.2, 4.13). */
export class Exchange<P> extends StreamedAnswer<P> {
  private readonly match: Match<Endpoint> | undefined;
  private readonly target: Endpoint | undefined;
  private framing: Framing = unframed;
  private verdict: Admission<P> | Refusal | undefined;
  private body: Body | undefined;
  private received = 0;
  private dropped = 0;

  constructor(traffic: Traffic<P>, response: HttpResponse, head: RequestHead, match: Match<Endpoint> | undefined) {
    super(traffic, response, head);
    this.match = match;
    this.target = match?.place.methods.get(head.method);
    this.family = (this.target ?? match?.place.methods.values().next().value)?.family ?? familyOf(head.path);
  }

  /** In the core's request callback: judges the headers, and answers at once where no body can follow. */
  start(): void {
    try {
      this.open();
    } catch (error) {
      this.refuse(this.refusalOf(error));
    }
    this.corked = false;
  }

  private open(): void {
    const { head } = this;
    const framing = frame(head.fields);
    if (isRefusal(framing)) {
      // Where this request ends is in doubt, so nothing after it may be read.
      this.closing = true;
      this.refuse(framing);
      return;
    }
    this.framing = framing;
    // The pinned core mis-reads chunks (F10), and a nameless header line hides a length from it and from us: what follows
    // on such a connection may not be a request.
    this.closing = framing.chunked || (!framing.framed && head.method !== 'GET' && head.method !== 'HEAD');
    const verdict = this.judge();
    this.verdict = verdict;
    if (!framing.framed) {
      // The core calls back after it has read the whole header block; without a length that is the last byte.
      this.complete(noBytes);
    } else if (!(verdict instanceof Admission) && framing.length > maxDropped) {
      this.closing = true;
      this.refuse(verdict);
    } else {
      this.read();
    }
  }

  private judge(): Admission<P> | Refusal {
    if (this.traffic.draining) {
      this.closing = true;
      return refusal('server_shutting_down');
    }
    const { match, target } = this;
    if (!match || !target) return unrouted(match);
    try {
      const verdict = admit(target, match, this.head, this.traffic.gate);
      if (!(verdict instanceof Admission) || (!this.framing.framed && !target.body)) return verdict;
      return judgeBodyHeaders(target, (name) => this.head.header(name), this.framing) ?? verdict;
    } catch (error) {
      return this.refusalOf(error);
    }
  }

  private read(): void {
    this.listen();
    this.count();
    this.since = this.now();
    this.response.onData((chunk, isLast) => {
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
    const { target } = this;
    if (!(this.verdict instanceof Admission) || !target || target.method === 'GET') {
      this.drop(chunk.byteLength);
    } else if (isLast && this.body === undefined && chunk.byteLength <= target.bodyLimit) {
      // The whole body in one piece is parsed where it lies.
      this.complete(Buffer.from(chunk));
    } else {
      this.body ??= new Body(this.traffic.budget, target.bodyLimit, this.framing.length);
      const code = this.body.add(new Uint8Array(chunk));
      if (code !== undefined) {
        this.verdict = refusal(code);
        this.release();
        this.drop(this.received);
      }
    }
    if (isLast && this.stage === 'reading') this.complete(this.body?.bytes ?? noBytes);
  }

  private drop(bytes: number): void {
    this.dropped += bytes;
    if (this.dropped <= maxDropped) return;
    this.closing = true;
    const { verdict } = this;
    this.refuse(verdict === undefined || verdict instanceof Admission ? refusal('request_too_large') : verdict);
  }

  /** The last byte has arrived. */
  private complete(bytes: Buffer): void {
    const { verdict, target } = this;
    if (!(verdict instanceof Admission) || !target) {
      this.refuse(verdict instanceof Admission || verdict === undefined ? refusal('internal_error') : verdict);
      return;
    }
    let body: unknown;
    if (this.framing.framed || target.body) {
      body = readBody(target, bytes);
      this.release();
      if (body instanceof Refused) {
        this.refuse(body.refusal);
        return;
      }
    }
    this.stage = 'handling';
    const reply: Reply | Promise<Reply> = target.route.handle(new ServedCall(this, verdict, body));
    if (!('then' in reply)) {
      this.answer(reply);
      return;
    }
    this.listen();
    this.count();
    this.head.keep();
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
    } else if (now - this.since >= this.traffic.bodyTimeoutMs + this.received / slowestUpload) {
      const { verdict } = this;
      this.closing = true;
      this.refuse(verdict === undefined || verdict instanceof Admission ? refusal('request_timeout') : verdict);
    }
  }

  protected override release(): void {
    this.body?.release();
    this.body = undefined;
  }
}
