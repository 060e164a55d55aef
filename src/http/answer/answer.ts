import { type Cancellation, Canceller } from '../../cancellation.ts';
import { Fault, type Refusal, refusal } from '../../errors.ts';
import { jsonText } from '../../exact-number.ts';
import { publish } from '../../telemetry.ts';
import { failureText } from '../error-envelopes.ts';
import type { RequestHead } from '../request/head.ts';
import type { Family, Headers, Pass, Reply, Sink } from '../route.ts';
import type { Expiring, Traffic } from '../traffic.ts';
import type { HttpResponse } from '../uws.ts';
import { bareAnswer, earlyAnswer, hasNoBody, lingerMs, maxLingered } from './early-answer.ts';
import { sendRest } from './pieces.ts';
import { headerBlock, statusLine } from './response-head.ts';

/**
 * `tryEnd` tells whether the connection still holds earlier answers, and costs a third of a microsecond more than `end`. So
 * of the answers up to this size only some are sent with it, by lot, which nobody can evade who asks again and again and
 * never reads: what a connection holds beyond the kernel's buffers is a few dozen answers at the most.
 */
const smallAnswer = 4 * 1024;
const lots = 16;
const isDrawn = (): boolean => Math.random() * lots < 1;
const json = 'application/json';

/**
 * The answering half of an exchange and the only owner of the core's response object (reliability.md 4.2): it listens for
 * the client's leaving before anything waits, writes inside cork, and never touches the response once it is done.
 */
export abstract class Answer<P> implements Expiring {
  readonly response: HttpResponse;
  readonly head: RequestHead;
  /** The client has left, or its connection was cut. */
  gone = false;
  protected readonly traffic: Traffic<P>;
  protected family: Family = 'admin';
  /** What the request holds of its limits; absent while nobody is identified. */
  protected pass: Pass<P> | undefined;
  /** What CORS adds to the headers. */
  protected originLines = '';
  /** The connection ends with this answer. */
  protected closing = false;
  /** Inside a native callback, where the core has corked the socket. */
  protected corked = true;
  protected stage: 'reading' | 'handling' | 'answering' | 'lingering' | 'done' = 'reading';
  /** More of the request's body is on its way. */
  protected arriving = false;
  /** When the present stage began. */
  protected since = 0;
  private listening = false;
  private counted = false;
  private paused = false;
  private lingered = 0;
  private canceller: Canceller | undefined;

  constructor(traffic: Traffic<P>, response: HttpResponse, head: RequestHead) {
    this.traffic = traffic;
    this.response = response;
    this.head = head;
  }

  now(): number {
    return this.traffic.clock.monotonic();
  }

  /** Aborted when the client leaves or the handler has taken too long. */
  signal(): Cancellation {
    this.canceller ??= new Canceller();
    if (this.gone) this.canceller.abort();
    return this.canceller;
  }

  protected report(error: unknown): void {
    publish('request.failed', { requestId: this.head.requestId, error });
  }

  protected refusalOf(error: unknown): Refusal {
    if (error instanceof Fault) return error.refusal;
    this.report(error);
    return refusal('internal_error');
  }

  protected isOpen(): boolean {
    return !this.gone && (this.stage === 'reading' || this.stage === 'handling');
  }

  protected answer(reply: Reply): void {
    if ('stream' in reply) {
      this.stream(reply.status, reply.headers, reply.stream);
      return;
    }
    if (!this.isOpen()) return;
    try {
      const { body } = reply;
      const data = typeof body === 'string' || body instanceof Uint8Array ? body : jsonText(body);
      this.send(
        reply.status,
        headerBlock(reply.headers, json, this.family, this.head.requestId, this.ownLines()),
        data,
      );
    } catch (error) {
      this.refuse(this.refusalOf(error));
    }
  }

  protected refuse(reason: Refusal): void {
    if (!this.isOpen()) return;
    const { requestId } = this.head;
    const { status, hints, body } = failureText(reason, this.family, requestId);
    let block: string;
    try {
      block = headerBlock(reason.headers, json, this.family, requestId, this.ownLines(), hints);
    } catch (error) {
      // An unsound header in a refusal is a fault of ours; the refusal itself still stands.
      this.report(error);
      block = headerBlock(undefined, json, this.family, requestId, this.originLines, hints);
    }
    this.send(status, block, body);
  }

  /** Header lines beside those of the reply: its limits as they stand at the moment at which these are made (decisions F.5). */
  protected ownLines(): string {
    return this.pass === undefined ? this.originLines : this.pass.lines() + this.originLines;
  }

  private send(status: number, block: string, data: string | Uint8Array): void {
    this.stage = 'answering';
    this.resume();
    const isBare = this.isBare(status, data);
    // The core does not tell of an answer without a body whether its reader takes it: now and then one is the last.
    if (this.traffic.draining || (isBare && isDrawn())) this.closing = true;
    const isHead = this.head.method === 'HEAD';
    if (this.closing && hasNoBody(status)) this.sendPending(status, bareAnswer(block));
    else if (isHead && this.closing) this.sendPending(status, bareAnswer(block, Buffer.byteLength(data)));
    else if (this.arriving && typeof data === 'string')
      this.sendPending(status, earlyAnswer(block, isBare ? '' : data));
    else if (this.closing) this.last(() => this.writeLast(status, block, data));
    else if (this.corked) this.write(status, block, data);
    else this.response.cork(() => this.write(status, block, data));
  }

  /** An answer that is complete for the client, while the connection stays for what it still sends. */
  private sendPending(status: number, text: string): void {
    this.listen();
    if (this.corked) this.writeHead(status, text);
    else this.response.cork(() => this.writeHead(status, text));
    this.linger();
  }

  /** The answer is complete, and the connection stays for a while. */
  protected linger(): void {
    this.stage = 'lingering';
    this.since = this.now();
    this.pass?.end();
    this.release();
  }

  /** Throws away what a client sends that has its answer. */
  protected discard(bytes: number, isLast: boolean): void {
    this.lingered += bytes;
    // Not here, where the answer may still be in the core's cork.
    if (isLast || this.lingered > maxLingered) setImmediate(() => this.cut());
  }

  private isBare(status: number, data: string | Uint8Array): boolean {
    return hasNoBody(status) || data.length === 0 || this.head.method === 'HEAD';
  }

  /**
   * Writes the last answer of a connection in a later turn of the loop. Inside a native callback, or a microtask that
   * follows it, the core has the answer in its cork and reads on: the next request in the same segment would be served.
   * While this one is unanswered, the core ends the connection at the next request instead.
   */
  protected last(write: () => void): void {
    this.listen();
    this.count();
    this.since = this.now();
    setImmediate(() => {
      if (this.gone) return;
      try {
        this.response.cork(write);
      } catch (error) {
        this.report(error);
      }
      this.finish();
    });
  }

  private writeLast(status: number, block: string, data: string | Uint8Array): void {
    this.writeHead(status, block);
    this.response.end(this.isBare(status, data) ? '' : data, true);
  }

  private write(status: number, block: string, data: string | Uint8Array): void {
    const { response } = this;
    this.writeHead(status, block);
    const isHead = this.head.method === 'HEAD';
    if (isHead || hasNoBody(status)) {
      if (isHead) response.writeHeader('content-length', String(Buffer.byteLength(data)));
      response.endWithoutBody();
      this.finish();
      return;
    }
    if (data.length <= smallAnswer && !isDrawn()) {
      response.end(data);
      this.finish();
      return;
    }
    // Without a length the core takes that of the data, which of a text it alone knows.
    const [, isDone] = response.tryEnd(data, 0);
    if (isDone) this.finish();
    else this.sendRest(typeof data === 'string' ? Buffer.from(data) : data);
  }

  protected writeHead(status: number, block: string): void {
    if (status !== 200) this.response.writeStatus(statusLine(status));
    this.response.writeHeader('content-type', block);
  }

  /** The reader is behind: the answer stays in flight until it has taken the rest, or its time is over. */
  private sendRest(data: Uint8Array): void {
    this.listen();
    this.count();
    this.since = this.now();
    sendRest(this.response, data, {
      progress: () => {
        this.since = this.now();
      },
      complete: () => this.finish(),
      failed: (error) => this.report(error),
    });
  }

  cut(): void {
    if (this.gone || this.stage === 'done') return;
    // Runs `left`, where a listener is registered.
    this.response.close();
  }

  /** Called about once a second: what has taken too long ends. */
  expire(now: number): void {
    const { handlerTimeoutMs, readerTimeoutMs } = this.traffic;
    if (this.stage === 'handling' && now - this.since >= handlerTimeoutMs) {
      this.report(new Error(`The handler had no answer within ${handlerTimeoutMs} ms.`));
      this.refuse(refusal('dependency_unavailable'));
      this.canceller?.abort();
    } else if (this.stage === 'answering') {
      const since = this.blockedSince();
      if (since !== undefined && now - since >= readerTimeoutMs) this.cut();
    } else if (this.stage === 'lingering' && now - this.since >= lingerMs) {
      this.cut();
    }
  }

  /** Registers for the client's leaving. */
  protected listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.response.onAborted(() => {
      try {
        this.gone = true;
        const isAnswered = this.stage === 'lingering';
        this.finish();
        if (!isAnswered) this.canceller?.abort();
        this.left();
      } catch (error) {
        this.report(error);
      }
    });
  }

  /**
   * Reads nothing more of the connection until the answer, and so not that the client has ended its side, which the core
   * takes for its leaving. Only where nobody would do anything about that.
   */
  protected pause(): void {
    this.paused = true;
    this.response.pause();
  }

  protected resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.response.resume();
  }

  /** From here on this exchange is in flight. */
  protected count(): void {
    if (this.counted) return;
    this.counted = true;
    this.traffic.enter(this);
  }

  protected finish(): void {
    if (this.stage === 'done') return;
    this.stage = 'done';
    this.pass?.end();
    this.head.forget();
    this.release();
    if (this.counted) this.traffic.leave(this);
  }

  /** Since when the reader has taken nothing; undefined while nothing waits for it. */
  protected blockedSince(): number | undefined {
    return this.since;
  }

  protected abstract stream(status: number, headers: Headers | undefined, run: (sink: Sink) => Promise<void>): void;
  /** The client is gone: whoever waits for it need not. */
  protected abstract left(): void;
  /** Gives back what the request still holds. */
  protected abstract release(): void;
}
