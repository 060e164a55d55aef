import { type Cancellation, Canceller } from '../../cancellation.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { publish } from '../../telemetry.ts';
import { refusalOf } from '../refused.ts';
import type { RequestHead } from '../request/head.ts';
import type { Reply, Sink, Watched } from '../route.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import type { Match } from '../routing/router.ts';
import type { HttpResponse } from '../uws.ts';
import { IncomingRequest } from './incoming-request.ts';
import { nobody } from './response-stream.ts';
import { type Answered, ResponseWriter } from './response-writer.ts';
import { type Exchanging, ServedCall } from './served-call.ts';
import type { Expiring, Traffic } from './traffic.ts';

/** Bytes for each millisecond: a slower body uses up `bodyTimeoutMs`; a faster one wins time back, at most that much. */
const slowestUpload = 64;
/** Unspecified: how long (ms) and how far a request is read after its answer. */
const lingerMs = 2_000;
const maxLingered = 64 * 1024 * 1024;

type State = 'receiving' | 'handling' | 'answering' | 'lingering' | 'done';

/**
 * What may follow each state. A reply or a refusal counts only where `answering` may follow.
 *
 * | state | the request | bytes of its body | ends after |
 * | --- | --- | --- | --- |
 * | receiving | is judged by its head, its body arrives | are kept or dropped | `bodyTimeoutMs`: 408 |
 * | handling | is with its handler | | `handlerTimeoutMs`: 503 |
 * | answering | is answered; `handling` again if a stream fails before its first byte | | `readerTimeoutMs`: cut |
 * | lingering | is settled, and its client has the answer | are dropped | `lingerMs`: cut |
 * | done | is settled, its response invalid | | |
 */
const next: Readonly<Record<State, readonly State[]>> = {
  receiving: ['handling', 'answering', 'done'],
  handling: ['answering', 'done'],
  answering: ['done', 'lingering', 'handling'],
  lingering: ['done'],
  done: [],
};

interface Arrived {
  proceed(): void;
}

let arrived: Arrived[] = [];

const proceedAll = (): void => {
  const all = arrived;
  arrived = [];
  for (const each of all) each.proceed();
};

/** In one turn with all others that have arrived: a turn for each would cost half a microsecond. */
const proceedLater = (exchange: Arrived): void => {
  if (arrived.push(exchange) === 1) setImmediate(proceedAll);
};

/** One request, from its head to the end of its answer. */
export class Exchange<P> implements Answered, Exchanging, Expiring {
  readonly head: RequestHead;
  private readonly traffic: Traffic<P>;
  private readonly request: IncomingRequest<P>;
  private readonly writer: ResponseWriter;
  /** Undefined without a watcher, and once the request is settled. */
  private watched: Watched<P> | undefined;
  private state: State = 'receiving';
  /** The start of the present state, or the last progress in it. */
  private since = 0;
  private isCounted = false;
  /** Bytes of the answer charged to the organization until the request is settled. */
  private heldOfAnswer = 0;
  private lingered = 0;
  private canceller: Canceller | undefined;

  constructor(traffic: Traffic<P>, response: HttpResponse, head: RequestHead, match: Match<Endpoint> | undefined) {
    this.traffic = traffic;
    this.head = head;
    const request = new IncomingRequest(traffic, head, match);
    this.request = request;
    this.watched = traffic.watch?.begin(head, request.target);
    this.writer = new ResponseWriter(response, this, head, request.family, request.originLines);
  }

  private may(state: State): boolean {
    return next[this.state].includes(state);
  }

  /** The only place that changes the state. */
  enter(state: State): void {
    if (!this.may(state)) return;
    this.state = state;
    if (state === 'lingering') {
      this.waits();
      this.settle();
    } else if (state === 'done') {
      this.settle();
      this.head.forget();
      if (this.isCounted) this.traffic.leave(this);
    }
  }

  /** Idempotent. */
  private settle(): void {
    this.request.lease?.end();
    this.request.release();
    if (this.heldOfAnswer > 0) this.traffic.answers.give(this.request.organization, this.heldOfAnswer);
    this.heldOfAnswer = 0;
    this.watched?.ends(this.request.lease?.principal);
    this.watched = undefined;
  }

  /** In the native callback, like `received`: what is to be done is done after it (`ResponseWriter`). */
  start(): void {
    const { request, writer } = this;
    request.judge();
    writer.closing = request.isLast;
    if (!request.hasBody) {
      // Called after the whole header block; without a length that is the last byte.
      proceedLater(this);
      return;
    }
    const refused = request.expectBody();
    this.waits();
    this.watched?.waits(this.since);
    writer.read();
    if (refused) setImmediate(() => this.refuseUnread(refused));
  }

  received(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.state === 'lingering') {
      this.lingered += chunk.byteLength;
      if (isLast || this.lingered > maxLingered) setImmediate(() => this.cut());
    } else if (this.state === 'receiving') {
      if (!isLast) this.since = Math.min(this.now(), this.since + chunk.byteLength / slowestUpload);
      const refused = this.request.receive(chunk, isLast);
      if (refused) setImmediate(() => this.refuseUnread(refused));
      // uWebSockets ends a chunked body before its trailers, and reads these as a request, which ends the connection. Two
      // turns, between which it reads what has arrived, show that before anything is done (contract A.3).
      else if (isLast && this.request.isChunked) setImmediate(proceedLater, this);
      else if (isLast) proceedLater(this);
    }
  }

  /** The request has arrived whole. */
  proceed(): void {
    if (this.state !== 'receiving') return;
    try {
      this.complete();
    } catch (error) {
      this.fail(error);
    }
  }

  private complete(): void {
    this.watched?.arrived();
    const call = this.request.call(this, this.watched);
    if (!(call instanceof ServedCall)) {
      this.refuse(call);
      return;
    }
    this.enter('handling');
    const reply: Reply | Promise<Reply> = this.request.target!.route.handle(call);
    if (!('then' in reply)) {
      this.answer(reply);
      return;
    }
    this.waits();
    // Audit entries need the address, perhaps after the client has left.
    if (this.writer.family === 'admin') {
      this.head.keep();
      this.writer.pause();
    }
    void this.answerLater(reply);
  }

  private async answerLater(reply: Promise<Reply>): Promise<void> {
    try {
      this.answer(await reply);
    } catch (error) {
      this.fail(error);
    }
  }

  private answer(reply: Reply): void {
    let sink = nobody;
    if (this.may('answering')) {
      try {
        if ('stream' in reply) sink = this.writer.openStream(reply.status, reply.headers);
        else this.writer.send(reply.status, reply.headers, reply.body);
      } catch (error) {
        this.fail(error);
      }
    }
    // Runs even if the client is gone, so that the producer can end its work.
    if ('stream' in reply) this.produce(reply.stream, sink);
  }

  private produce(run: (sink: Sink) => Promise<void>, sink: Sink): void {
    Promise.resolve(sink)
      .then(run)
      .then(
        () => this.writer.endStream(),
        (error: unknown) => this.streamFailed(error),
      )
      .catch((error: unknown) => this.report(error));
  }

  fail(error: unknown): void {
    // A handler that gives up because its client has left has not failed.
    if (this.canceller?.aborted === true && error === this.canceller.reason) return;
    this.refuse(refusalOf(error, this.head.requestId));
  }

  private refuse(reason: Refusal): void {
    if (this.may('answering')) this.writer.refuse(reason);
  }

  private refuseUnread(reason: Refusal): void {
    this.writer.closing = true;
    this.refuse(reason);
  }

  /** After the first byte only a cut connection can report a failure. */
  private streamFailed(error: unknown): void {
    const { stream } = this.writer;
    if (this.state !== 'answering' || stream === undefined) return;
    const reason = refusalOf(error, this.head.requestId);
    if (stream.begun) {
      this.cut();
      return;
    }
    this.writer.stream = undefined;
    this.enter('handling');
    this.refuse(reason);
  }

  expire(now: number): void {
    const { bodyTimeoutMs, handlerTimeoutMs, readerTimeoutMs } = this.traffic;
    const waited = now - this.since;
    if (this.state === 'receiving') {
      if (waited >= bodyTimeoutMs) this.refuseUnread(this.request.unread('request_timeout'));
      else this.writer.keepReading();
    } else if (this.state === 'handling' && waited >= handlerTimeoutMs) {
      this.report(new Error(`The handler had no answer within ${handlerTimeoutMs} ms.`));
      this.refuse(refusal('dependency_unavailable'));
      this.canceller?.abort();
    } else if (this.state === 'answering') {
      const { stream } = this.writer;
      const since = stream === undefined ? this.since : stream.blockedSince;
      if (since !== undefined && now - since >= readerTimeoutMs) this.cut();
    } else if (this.state === 'lingering' && waited >= lingerMs) {
      this.cut();
    }
  }

  lines(): string {
    return this.request.lease?.lines() ?? '';
  }

  get isDraining(): boolean {
    return this.traffic.draining;
  }

  begins(status: number): void {
    this.watched?.answers(status);
  }

  waits(): void {
    this.since = this.now();
    if (this.isCounted) return;
    this.isCounted = true;
    this.traffic.enter(this);
  }

  left(): void {
    const isAnswered = this.state === 'lingering';
    this.enter('done');
    if (!isAnswered) this.canceller?.abort();
  }

  cut(): void {
    if (this.state !== 'done') this.writer.cut();
  }

  abandon(): void {
    this.enter('done');
    this.writer.cut();
  }

  signal(): Cancellation {
    this.canceller ??= new Canceller();
    if (this.writer.gone) this.canceller.abort();
    return this.canceller;
  }

  /** Returns the 503 if its answers hold too much. */
  hold(bytes: number): Refusal | undefined {
    // The request is over and its upstream stopped: it would release nothing.
    if (this.state === 'done') return undefined;
    const refused = this.traffic.answers.take(this.request.organization, bytes);
    if (refused === undefined) this.heldOfAnswer += bytes;
    return refused;
  }

  get isStreaming(): boolean {
    return this.state === 'answering' && this.writer.stream !== undefined;
  }

  now(): number {
    return this.traffic.clock.monotonic();
  }

  report(error: unknown): void {
    publish('request.failed', { requestId: this.head.requestId, error });
  }
}
