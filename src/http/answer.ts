import { type Cancellation, Canceller } from '../cancellation.ts';
import { Fault, type Refusal, refusal } from '../errors.ts';
import { jsonText } from '../exact-number.ts';
import { publish } from '../telemetry.ts';
import type { RequestHead } from './head.ts';
import { sendInPieces } from './pieces.ts';
import { headerBlock, statusLine } from './response-head.ts';
import type { Family, Headers, Pass, Reply, Sink } from './route.ts';
import type { Expiring, Traffic } from './traffic.ts';
import type { HttpResponse } from './uws.ts';
import { failureText } from './wire.ts';

/** Answers above this are handed to the core piece by piece, so that a slow reader can be noticed and cut. */
const wholeAnswer = 64 * 1024;
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
  /** The connection ends with this answer. */
  protected closing = false;
  /** Inside a native callback, where the core has corked the socket. */
  protected corked = true;
  protected stage: 'reading' | 'handling' | 'answering' | 'done' = 'reading';
  /** When the present stage began. */
  protected since = 0;
  private listening = false;
  private counted = false;
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
        headerBlock(reply.headers, json, this.family, this.head.requestId, this.limitLines()),
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
      block = headerBlock(reason.headers, json, this.family, requestId, this.limitLines(), hints);
    } catch (error) {
      // An unsound header in a refusal is a fault of ours; the refusal itself still stands.
      this.report(error);
      block = headerBlock(undefined, json, this.family, requestId, '', hints);
    }
    this.send(status, block, body);
  }

  /** Its limits as they stand at the moment at which the headers are made (decisions F.5). */
  protected limitLines(): string {
    return this.pass === undefined ? '' : this.pass.lines();
  }

  private send(status: number, block: string, data: string | Uint8Array): void {
    this.stage = 'answering';
    if (this.traffic.draining) this.closing = true;
    if (data.length > wholeAnswer && !this.closing && this.head.method !== 'HEAD') {
      this.sendSlowly(status, block, typeof data === 'string' ? Buffer.from(data) : data);
      return;
    }
    if (this.closing) this.last(() => this.write(status, block, data));
    else if (this.corked) this.write(status, block, data);
    else this.response.cork(() => this.write(status, block, data));
    if (!this.closing) this.finish();
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

  private write(status: number, block: string, data: string | Uint8Array): void {
    const { response } = this;
    this.writeHead(status, block);
    const isBare = status === 204 || status === 304;
    // Given any argument, `endWithoutBody` of 20.51 leaves the answer unfinished and the process ends on our return.
    if (isBare && !this.closing) response.endWithoutBody();
    else if (!isBare && !this.closing && this.head.method !== 'HEAD') response.end(data);
    else response.end(isBare || this.head.method === 'HEAD' ? '' : data, this.closing);
  }

  protected writeHead(status: number, block: string): void {
    if (status !== 200) this.response.writeStatus(statusLine(status));
    this.response.writeHeader('content-type', block);
  }

  private sendSlowly(status: number, block: string, data: Uint8Array): void {
    this.listen();
    this.count();
    sendInPieces(this.response, data, {
      head: () => this.writeHead(status, block),
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
    }
  }

  /** Registers for the client's leaving. */
  protected listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.response.onAborted(() => {
      try {
        this.gone = true;
        this.finish();
        this.canceller?.abort();
        this.left();
      } catch (error) {
        this.report(error);
      }
    });
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
