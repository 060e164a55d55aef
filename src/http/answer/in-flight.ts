import { type Cancellation, Canceller } from '../../cancellation.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { publish } from '../../telemetry.ts';
import type { RequestHead } from '../request/head.ts';
import type { RateLimitLease, Watched } from '../route.ts';
import type { Expiring, Traffic } from '../traffic.ts';
import type { HttpResponse } from '../uws.ts';
import { lingerMs, maxLingered } from './early-answer.ts';
import { sendRest } from './pieces.ts';

/**
 * What of an exchange outlives the turn of its request: it waits for a body, a handler or a reader, listens for the client's
 * leaving before it does, and ends when its time is over. It never touches the response once it is done.
 */
export abstract class InFlight<P> implements Expiring {
  readonly response: HttpResponse;
  readonly head: RequestHead;
  /** The client has left, or its connection was cut. */
  gone = false;
  protected readonly traffic: Traffic<P>;
  /** What the request holds of its limits; absent while nobody is identified. */
  protected lease: RateLimitLease<P> | undefined;
  /** Who is told of the request until it is over; undefined where nobody is. */
  protected watched: Watched<P> | undefined;
  protected stage: 'reading' | 'handling' | 'answering' | 'lingering' | 'done' = 'reading';
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

  /** The answer is complete, and the connection stays for a while. */
  protected linger(): void {
    this.stage = 'lingering';
    this.since = this.now();
    this.lease?.end();
    this.release();
    this.ended();
  }

  /** Throws away what a client sends that has its answer. */
  protected discard(bytes: number, isLast: boolean): void {
    this.lingered += bytes;
    // Not here, where the answer may still be in the core's cork.
    if (isLast || this.lingered > maxLingered) setImmediate(() => this.cut());
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

  /** The reader is behind: the answer stays in flight until it has taken the rest, or its time is over. */
  protected sendRest(data: Uint8Array): void {
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
    this.lease?.end();
    this.head.forget();
    this.release();
    if (this.counted) this.traffic.leave(this);
    this.ended();
  }

  private ended(): void {
    this.watched?.ends(this.lease?.principal);
    this.watched = undefined;
  }

  get isStreaming(): boolean {
    return false;
  }

  /** Since when the reader has taken nothing; undefined while nothing waits for it. */
  protected blockedSince(): number | undefined {
    return this.since;
  }

  /** Answers with a refusal, unless there is an answer already. */
  protected abstract refuse(reason: Refusal): void;
  /** The client is gone: whoever waits for it need not. */
  protected abstract left(): void;
  /** Gives back what the request still holds. */
  protected abstract release(): void;
}
