import type { Cancellation } from '../../../cancellation.ts';
import type { Millis } from '../../../clock.ts';
import type { Asker, Connection } from '../http1/connection.ts';
import type { Pool } from '../http1/pool.ts';
import type { HttpRequest } from '../http1/request.ts';
import type { ResponseHead } from '../http1/response-head.ts';
import type { Due } from '../http1/sweep.ts';
import { UpstreamError } from '../port.ts';
import { type Deadlines, maxDrainBytes, maxDrainMs, maxQueuedBytes } from './limits.ts';

const late = 'The model provider did not answer in time.';

export class UpstreamExchange implements Asker, Due {
  dueAt: Millis;
  /** After a failure: whether a non-interim part of an answer had come. */
  answered = false;
  /** After a failure: whether the request had been sent. */
  sent = false;
  readonly #pool: Pool;
  readonly #signal: Cancellation;
  readonly #deadlines: Deadlines;
  readonly #maxBytes: number;
  readonly #totalAt: Millis;
  #connection: Connection | null = null;
  #head: ResponseHead | null = null;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #receivedBytes = 0;
  #over: { readonly error: unknown } | 'ended' | null = null;
  #draining = false;
  #wake: (() => void) | null = null;

  /** Sends at once. More than `maxBytes` of body is a failure. @param totalAt when all of it is too late */
  constructor(
    pool: Pool,
    request: HttpRequest,
    signal: Cancellation,
    deadlines: Deadlines,
    maxBytes: number,
    totalAt: Millis,
  ) {
    this.#pool = pool;
    this.#signal = signal;
    this.#deadlines = deadlines;
    this.#maxBytes = maxBytes;
    this.#totalAt = totalAt;
    this.dueAt = Math.min(totalAt, pool.sweep.now() + deadlines.firstByteMs);
    pool.sweep.watch(this);
    signal.addEventListener('abort', this.#abort);
    if (signal.aborted) this.#abort();
    else pool.ask(request, this);
  }

  /** Null until it is there. */
  get responseHead(): ResponseHead | null {
    return this.#head;
  }

  /** Whether more came than an answer may hold. */
  get isTooLarge(): boolean {
    return this.#receivedBytes > this.#maxBytes;
  }

  /** The next piece of the body that has come, null at the end, undefined until `change`. */
  take(): Buffer | null | undefined {
    const piece = this.#queue.shift();
    if (piece === undefined) return this.#over === 'ended' ? null : undefined;
    this.#queuedBytes -= piece.length;
    if (this.#queuedBytes < maxQueuedBytes / 2) this.#connection?.resume();
    return piece;
  }

  /** Null at the end. Rejects like `change`. */
  async read(): Promise<Buffer | null> {
    let piece = this.take();
    for (; piece === undefined; piece = this.take()) await this.change();
    return piece;
  }

  /** Resolves when more has come. Rejects with the signal's reason, an UpstreamError, or the connection's error */
  change(): Promise<void> {
    if (this.#over !== null) {
      return Promise.reject(this.#over === 'ended' ? new Error('ended without a head') : this.#over.error);
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  close(): void {
    // An error is made only if needed: its stack costs more than the rest.
    if (this.#over === null && !this.#draining) this.#fail(new Error('not read to the end'));
  }

  /** If the response ends soon, its connection is reused. */
  drain(): void {
    if (this.#over !== null) return;
    this.#draining = true;
    this.#signal.removeEventListener('abort', this.#abort);
    this.#queue = [];
    this.#receivedBytes = 0;
    this.dueAt = this.#pool.sweep.now() + maxDrainMs;
    this.#connection?.resume();
  }

  taken(connection: Connection): void {
    this.#connection = connection;
  }

  head(head: ResponseHead): void {
    this.#head = head;
    this.#refresh();
    this.#notify();
  }

  body(piece: Buffer): void {
    this.#receivedBytes += piece.length;
    if (this.#draining) {
      if (this.#receivedBytes > maxDrainBytes) this.#fail(new Error('no end'));
      return;
    }
    if (this.isTooLarge) {
      this.#fail(new UpstreamError('provider_error', 'The model provider sent more than an answer may hold.'));
      return;
    }
    this.#refresh();
    // The piece is only valid during this call.
    this.#queue.push(Buffer.from(piece));
    this.#queuedBytes += piece.length;
    if (this.#queuedBytes >= maxQueuedBytes) this.#connection?.pause();
    this.#notify();
  }

  end(): void {
    this.#settle('ended');
  }

  failed(error: unknown, answered: boolean): void {
    this.answered = answered;
    this.#settle({ error });
  }

  due(now: Millis): void {
    // A slow reader does not count as silence; the total time goes on.
    if (this.#connection?.paused === true && now < this.#totalAt) this.#refresh();
    else this.#fail(new UpstreamError('provider_timeout', late, { begun: this.#connection?.open === true }));
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason);

  #refresh(): void {
    this.dueAt = Math.min(this.#totalAt, this.#pool.sweep.now() + this.#deadlines.idleMs);
  }

  /** What has come is not to be read any more. */
  #fail(error: unknown): void {
    if (this.#over !== null) return;
    const connection = this.#connection;
    this.#queue = [];
    this.#settle({ error });
    if (connection === null) this.#pool.forget(this);
    else connection.destroy();
  }

  #settle(over: { readonly error: unknown } | 'ended'): void {
    if (this.#over !== null) return;
    this.#over = over;
    this.sent = this.#connection?.open === true;
    // Another request may use it from now on.
    this.#connection = null;
    this.#pool.sweep.forget(this);
    this.#signal.removeEventListener('abort', this.#abort);
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
