import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Cancellation } from '../../cancellation.ts';
import { UpstreamError } from '../port.ts';
import { type Deadlines, maxDrainBytes, maxDrainMs, maxQueuedBytes } from './limits.ts';

/**
 * One request and its response, read piece by piece at the reader's pace. It is written on undici's dispatch, as
 * `request()` puts a Readable in between, and so that one set of timers covers the whole: undici's own begin only with
 * a connection.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Of the response; 0 until its head is there. */
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** Whether anything at all has come from the upstream. */
  answered = false;
  readonly #signal: Cancellation;
  readonly #deadlines: Deadlines;
  readonly #maxBytes: number;
  #controller: Dispatcher.DispatchController | null = null;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #receivedBytes = 0;
  #over: { readonly error: unknown } | 'ended' | null = null;
  #draining = false;
  #wake: (() => void) | null = null;
  #phase: NodeJS.Timeout;
  #total: NodeJS.Timeout;

  /** `maxBytes` of a response body are read; more is a failure. */
  constructor(signal: Cancellation, deadlines: Deadlines, maxBytes: number) {
    this.#signal = signal;
    this.#deadlines = deadlines;
    this.#maxBytes = maxBytes;
    this.#phase = setTimeout(this.#quiet, deadlines.firstByteMs);
    this.#total = setTimeout(this.#late, deadlines.totalMs);
    signal.addEventListener('abort', this.#abort);
    if (signal.aborted) this.#abort();
  }

  /** Whether a connection has taken the request. */
  get sent(): boolean {
    return this.#controller !== null;
  }

  /** Resolves when `status` and `headers` are there. Rejects like `read`. */
  async head(): Promise<void> {
    while (this.status === 0) await this.#change();
  }

  /**
   * The next piece of the body, null after the last.
   *
   * @throws the signal's reason, an UpstreamError for time and size, or undici's error
   */
  async read(): Promise<Buffer | null> {
    for (;;) {
      const piece = this.#queue.shift();
      if (piece !== undefined) {
        this.#queuedBytes -= piece.length;
        if (this.#queuedBytes < maxQueuedBytes / 2 && this.#controller?.paused) this.#controller.resume();
        return piece;
      }
      if (this.#over === 'ended') return null;
      await this.#change();
    }
  }

  /** Breaks the connection off unless the response has been read to its end. */
  close(): void {
    if (!this.#draining) this.#fail(new Error('not read to the end'), true);
  }

  /** Nothing more is wanted, but if the response ends soon its connection can be used again. */
  drain(): void {
    if (this.#over !== null) return;
    this.#draining = true;
    this.#settle();
    this.#queue = [];
    this.#receivedBytes = 0;
    this.#phase = setTimeout(() => this.#controller?.abort(new Error('no end')), maxDrainMs);
    this.#phase.unref();
    if (this.#controller?.paused) this.#controller.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Given up while it waited for a connection: undici then does not send it.
    if (this.#over !== null) controller.abort(new Error('given up'));
  }

  onResponseStarted(): void {
    this.answered = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#over !== null) return;
    this.status = status;
    this.headers = headers;
    clearTimeout(this.#phase);
    this.#phase = setTimeout(this.#quiet, this.#deadlines.idleMs);
    this.#notify();
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#receivedBytes += piece.length;
    if (this.#draining) {
      if (this.#receivedBytes > maxDrainBytes) controller.abort(new Error('no end'));
      return;
    }
    if (this.#over !== null) return;
    if (this.#receivedBytes > this.#maxBytes) {
      this.#fail(new UpstreamError('provider_error', 'The model provider sent more than an answer may hold.'), true);
      return;
    }
    this.#phase.refresh();
    this.#queue.push(piece);
    this.#queuedBytes += piece.length;
    if (this.#queuedBytes >= maxQueuedBytes) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    if (this.#over !== null) return;
    this.#over = 'ended';
    this.#settle();
    this.#notify();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error, false);
  }

  readonly #abort = (): void => this.#fail(this.#signal.reason, true);

  readonly #late = (): void => {
    const late = 'The model provider did not answer in time.';
    this.#fail(new UpstreamError('provider_timeout', late, { begun: this.sent }), true);
  };

  /** A reader who is behind is not the upstream's fault; the total time goes on. */
  readonly #quiet = (): void => {
    if (this.#controller?.paused) this.#phase.refresh();
    else this.#late();
  };

  /** `dropped`: what has come is not to be read any more. */
  #fail(error: unknown, dropped: boolean): void {
    if (this.#over !== null) return;
    this.#over = { error };
    if (dropped) this.#queue = [];
    this.#settle();
    this.#controller?.abort(error instanceof Error ? error : new Error('given up'));
    this.#notify();
  }

  #settle(): void {
    clearTimeout(this.#phase);
    clearTimeout(this.#total);
    this.#signal.removeEventListener('abort', this.#abort);
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #change(): Promise<void> {
    if (this.#over !== null) {
      return Promise.reject(this.#over === 'ended' ? new Error('ended without a head') : this.#over.error);
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
