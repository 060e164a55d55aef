import type { Sink } from '../route.ts';
import type { HttpResponse } from '../uws.ts';

interface Streaming {
  readonly gone: boolean;
  beginStream(status: number, block: string): void;
  cut(): void;
  now(): number;
}

/** In uWebSockets, for one slow reader. */
const maxWaiting = 1024 * 1024;

/**
 * Of a piece: with its head within the cork buffer, of which uWebSockets loses what does not fit where the reader is
 * slow. Also of what is held back for the end.
 */
const maxPiece = 8 * 1024;

const nothing = (): void => {};

const sizeOf = (chunk: string | Uint8Array): number =>
  typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;

/** For `HEAD`, and for producers whose client is gone or has another answer. */
export const nobody: Sink = { write: () => true, last() {}, drained: () => Promise.resolve(), gone: true };

/** The body of a streamed answer, with backpressure. */
export class ResponseStream implements Sink {
  readonly status: number;
  readonly block: string;
  readonly #response: HttpResponse;
  readonly #owner: Streaming;
  begun = false;
  #waiting = 0;
  hasBlocked = false;
  /** The response is invalid. */
  ended = false;
  #drained: (() => void)[] = [];
  #next: string | Uint8Array = '';
  #last: string | Uint8Array = '';
  /** Undefined while the reader keeps up. */
  blockedSince: number | undefined;

  /** @param block of `headerBlock` */
  constructor(response: HttpResponse, owner: Streaming, status: number, block: string) {
    this.#response = response;
    this.#owner = owner;
    this.status = status;
    this.block = block;
  }

  get gone(): boolean {
    return this.#owner.gone;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#owner.gone || chunk.length === 0) return true;
    if (this.blockedSince !== undefined) {
      this.#waiting += sizeOf(chunk);
      if (this.#waiting > maxWaiting) {
        this.#owner.cut();
        return true;
      }
    }
    if (chunk.length * 3 <= maxPiece) {
      this.#next = chunk;
      this.#response.cork(this.#send);
    } else {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      for (let from = 0; from < bytes.length; from += maxPiece) {
        this.#next = bytes.subarray(from, from + maxPiece);
        this.#response.cork(this.#send);
      }
    }
    return this.blockedSince === undefined;
  }

  last(chunk: string | Uint8Array): void {
    if (this.blockedSince === undefined && sizeOf(chunk) <= maxPiece) this.#last = chunk;
    else this.write(chunk);
  }

  get isEmpty(): boolean {
    return !this.begun && this.#last.length === 0;
  }

  /** Inside a cork. */
  sendLast(): void {
    if (this.#last.length === 0) return;
    this.#next = this.#last;
    this.#last = '';
    this.#send();
  }

  readonly #send = (): void => {
    if (!this.begun) {
      this.begun = true;
      this.#owner.beginStream(this.status, this.block);
    }
    const chunk = this.#next;
    this.#next = '';
    if (this.#response.write(chunk) || this.blockedSince !== undefined) return;
    this.blockedSince = this.#owner.now();
    this.#waiting = sizeOf(chunk);
    if (this.hasBlocked) return;
    this.hasBlocked = true;
    this.#response.onWritable(this.#writable);
  };

  readonly #writable = (): boolean => {
    setImmediate(this.#goOn);
    return true;
  };

  readonly #goOn = (): void => {
    if (this.#owner.gone || this.ended) return;
    // With a listener uWebSockets leaves it to the next write to send what waits.
    this.#response.cork(nothing);
    this.blockedSince = undefined;
    this.#waiting = 0;
    this.wake();
  };

  drained(): Promise<void> {
    if (this.#owner.gone || this.blockedSince === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** There is room, or the client is gone. */
  wake(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }
}
