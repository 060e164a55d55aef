import { type Cancellation, Canceller } from '../../cancellation.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { publish } from '../../telemetry.ts';
import type { RequestHead } from '../request/head.ts';
import type { RateLimitLease, Watched } from '../route.ts';
import type { HttpResponse } from '../uws.ts';
import { lingerMs, maxLingered } from './early-answer.ts';
import { sendRest } from './pieces.ts';
import type { Expiring, Traffic } from './traffic.ts';

/**
 * The part of an exchange that outlives the callback: waits for body, handler or reader, notices the client's leaving,
 * and times out. Never touches the response after it is done.
 */
export abstract class InFlight<P> implements Expiring {
  readonly response: HttpResponse;
  readonly head: RequestHead;
  /** The client left, or the connection was cut. */
  gone = false;
  protected readonly traffic: Traffic<P>;
  /** Absent until a credential is identified. */
  protected lease: RateLimitLease<P> | undefined;
  /** Undefined without a watcher. */
  protected watched: Watched<P> | undefined;
  protected stage: 'reading' | 'handling' | 'answering' | 'lingering' | 'done' = 'reading';
  /** The start of the present stage. */
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

  signal(): Cancellation {
    this.canceller ??= new Canceller();
    if (this.gone) this.canceller.abort();
    return this.canceller;
  }

  protected report(error: unknown): void {
    publish('request.failed', { requestId: this.head.requestId, error });
  }

  /** The answer is complete, the connection stays for a while. */
  protected linger(): void {
    this.stage = 'lingering';
    this.since = this.now();
    this.lease?.end();
    this.release();
    this.ended();
  }

  /** Drops what comes after the answer. */
  protected discard(bytes: number, isLast: boolean): void {
    this.lingered += bytes;
    // Deferred: the answer may still be corked.
    if (isLast || this.lingered > maxLingered) setImmediate(() => this.cut());
  }

  /**
   * Writes a connection's last answer in a later turn. In a native callback or its microtasks uWebSockets corks the
   * answer and serves the next request of the segment; while this one is unanswered, the next request ends the
   * connection instead.
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

  /** Stays in flight until the slow reader has the rest or times out. */
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
    // Calls `left` if a listener is registered.
    this.response.close();
  }

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

  /** So that a half-closed connection does not count as left. Only if leaving would change nothing. */
  protected pause(): void {
    this.paused = true;
    this.response.pause();
  }

  protected resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.response.resume();
  }

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

  /** Of the reader's last progress; undefined if nothing waits. */
  protected blockedSince(): number | undefined {
    return this.since;
  }

  /** No effect after an answer. */
  protected abstract refuse(reason: Refusal): void;
  /** The client is gone. */
  protected abstract left(): void;
  protected abstract release(): void;
}
