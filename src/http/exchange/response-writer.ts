import type { Refusal } from '../../errors.ts';
import { jsonText } from '../../json/exact-number.ts';
import { failureText } from '../error-envelopes.ts';
import type { Family, Head, Headers, Sink } from '../route.ts';
import type { HttpResponse } from '../uws.ts';
import { bareAnswer, earlyAnswer, hasNoBody, headerBlock, kept, statusLine } from './response-head.ts';
import { nobody, ResponseStream } from './response-stream.ts';

/** The request whose answer is written. */
export interface Answered {
  now(): number;
  /** Bytes of its body, valid until this returns. */
  received(chunk: ArrayBuffer, isLast: boolean): void;
  readonly isDraining: boolean;
  /** Header lines of the limits as they are now (contract F.5). */
  lines(): string;
  /** The head of its answer is about to be written. */
  begins(status: number): void;
  /** The answer takes longer than this turn; called again when its reader has taken some of it. */
  waits(): void;
  /** An error in a native callback. */
  fail(error: unknown): void;
  /** `lingering`: the answer is complete for the client alone; `done`: the response is invalid from now on. */
  enter(state: 'answering' | 'lingering' | 'done'): void;
  /** The client left, or the connection was cut. */
  left(): void;
  report(error: unknown): void;
}

/**
 * `tryEnd` reports whether earlier answers are waiting, for a third of a microsecond more than `end`. Up to this size
 * a random sample of answers uses it, which limits a client that never reads to a few dozen answers beyond the
 * kernel's buffers.
 */
const smallAnswer = 4 * 1024;
const lots = 16;
const json = 'application/json';
const isDrawn = (): boolean => Math.random() * lots < 1;

/**
 * The only owner of uWebSockets' response: writes inside cork, never after the end, and never in a native callback or
 * its microtasks. There an answer above the cork buffer, or the last of a connection, may close the socket while
 * uWebSockets goes on to parse what follows on it; and it loses what does not fit into the cork buffer of a client that
 * does not read. While an answer waits for its turn, a further request on its connection ends the connection.
 */
export class ResponseWriter {
  private readonly response: HttpResponse;
  private readonly owner: Answered;
  private readonly isHead: boolean;
  private readonly requestId: string;
  readonly family: Family;
  private readonly originLines: string;
  /** The client left, or the connection was cut. */
  gone = false;
  /** This answer is the last of its connection. */
  closing = false;
  stream: ResponseStream | undefined;
  /** More of the body is coming. */
  private arriving = false;
  private paused = false;

  constructor(response: HttpResponse, owner: Answered, head: Head, family: Family, originLines: string) {
    this.response = response;
    this.owner = owner;
    this.isHead = head.method === 'HEAD';
    this.requestId = head.requestId;
    this.family = family;
    this.originLines = originLines;
    // Without it uWebSockets ends the process where a native callback returns before the answer.
    response.onAborted(() => {
      try {
        this.gone = true;
        this.owner.left();
        this.stream?.wake();
      } catch (error) {
        this.owner.report(error);
      }
    });
  }

  read(): void {
    this.arriving = true;
    this.response.onData((chunk, isLast) => {
      if (isLast) this.arriving = false;
      try {
        this.owner.received(chunk, isLast);
      } catch (error) {
        setImmediate(() => this.owner.fail(error));
      }
    });
  }

  /** uWebSockets would cut the connection without an answer; this restarts its timer. */
  keepReading(): void {
    this.response.pause();
    this.response.resume();
  }

  /** So that a half-closed connection does not count as left. Only if leaving would change nothing. */
  pause(): void {
    this.paused = true;
    this.response.pause();
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.response.resume();
  }

  /** Cuts the connection. uWebSockets reports that as the client's leaving. */
  cut(): void {
    if (!this.gone) this.response.close();
  }

  now(): number {
    return this.owner.now();
  }

  /** @throws TypeError for an invalid header; then nothing is written */
  send(status: number, headers: Headers | undefined, body: object | string | Uint8Array): void {
    const data = typeof body === 'string' || body instanceof Uint8Array ? body : jsonText(body);
    this.sendBlock(status, this.block(headers, json), data);
  }

  refuse(reason: Refusal): void {
    const { status, hints, body } = failureText(reason, this.family, this.requestId);
    let block: string;
    try {
      block = this.block(reason.headers, json, hints);
    } catch (error) {
      // An invalid header in a refusal is a fault of ours; the refusal is sent without it.
      this.owner.report(error);
      block = headerBlock(undefined, json, this.family, this.requestId, this.originLines, hints);
    }
    this.sendBlock(status, block, body);
  }

  private block(headers: Headers | undefined, media: string, more?: Headers): string {
    return headerBlock(headers, media, this.family, this.requestId, this.owner.lines() + this.originLines, more);
  }

  private sendBlock(status: number, block: string, data: string | Uint8Array): void {
    this.owner.enter('answering');
    this.resume();
    const isBare = hasNoBody(status) || data.length === 0 || this.isHead;
    // Without a body uWebSockets reports no backpressure, so some are the last of their connection.
    if (this.owner.isDraining || (isBare && isDrawn())) this.closing = true;
    if (this.closing && hasNoBody(status)) this.sendPending(status, bareAnswer(block));
    else if (this.closing && this.isHead) this.sendPending(status, bareAnswer(block, Buffer.byteLength(data)));
    else if (this.arriving && typeof data === 'string')
      this.sendPending(status, earlyAnswer(block, isBare ? '' : data));
    else if (this.closing) this.sendAsLast(status, block, isBare ? '' : data);
    else this.response.cork(() => this.sendWhole(status, block, data));
  }

  /** Complete for the client, while the connection stays for the rest of its request. */
  private sendPending(status: number, text: string): void {
    this.response.cork(() => this.writeHead(status, text));
    this.owner.enter('lingering');
  }

  private sendAsLast(status: number, block: string, data: string | Uint8Array): void {
    this.response.cork(() => {
      this.writeHead(status, block);
      this.response.end(data, true);
    });
    this.owner.enter('done');
  }

  private sendWhole(status: number, block: string, data: string | Uint8Array): void {
    const { response } = this;
    this.writeHead(status, block + kept);
    if (this.isHead || hasNoBody(status)) {
      if (this.isHead) response.writeHeader('content-length', String(Buffer.byteLength(data)));
      response.endWithoutBody();
    } else if (data.length <= smallAnswer && !isDrawn()) {
      response.end(data);
    } else {
      // Without a length uWebSockets takes that of the data.
      const [, isDone] = response.tryEnd(data, 0);
      if (!isDone) {
        this.sendRest(typeof data === 'string' ? Buffer.from(data) : data);
        return;
      }
    }
    this.owner.enter('done');
  }

  /** `end` would copy the whole answer into uWebSockets, unaccounted. @param data the whole answer */
  private sendRest(data: Uint8Array): void {
    this.owner.waits();
    this.response.onWritable((offset) => {
      setImmediate(() => this.sendFrom(offset, data));
      return true;
    });
  }

  private sendFrom(offset: number, data: Uint8Array): void {
    if (this.gone) return;
    this.owner.waits();
    this.response.cork(() => {
      const [, isDone] = this.response.tryEnd(data.subarray(offset), data.length);
      if (isDone) this.owner.enter('done');
    });
  }

  private writeHead(status: number, block: string): void {
    this.owner.begins(status);
    if (status !== 200) this.response.writeStatus(statusLine(status));
    this.response.writeHeader('content-type', block);
  }

  /** The status goes out with the first byte, or at the end. @throws TypeError as `send` */
  openStream(status: number, headers: Headers | undefined): Sink {
    const block = this.block(headers, 'text/event-stream');
    this.owner.enter('answering');
    this.resume();
    if (this.isHead) {
      // The length is unknown, so it is the last of its connection.
      this.sendPending(status, bareAnswer(block));
      return nobody;
    }
    this.owner.waits();
    this.stream = new ResponseStream(this.response, this, status, block);
    return this.stream;
  }

  beginStream(status: number, block: string): void {
    this.writeHead(status, block + (this.closing ? '\r\nConnection: close' : kept));
  }

  /** Waits until the reader has taken the stream, if there is one. */
  async endStream(): Promise<void> {
    const { stream } = this;
    await stream?.drained();
    if (stream === undefined || this.gone) return;
    if (stream.isEmpty) {
      // uWebSockets reports no backpressure without a body, so it is the last of its connection.
      this.sendAsLast(stream.status, stream.block, '');
    } else if (this.closing) {
      this.endConnection(stream);
    } else {
      this.response.cork(() => {
        stream.sendLast();
        this.response.end();
      });
      stream.ended = true;
      this.owner.enter('done');
    }
  }

  /**
   * Ends a stream and its connection after a chunked request. uWebSockets' `end` without close would serve what
   * follows, with close it writes a header into the body. So the last chunk is written as header lines (a trailer),
   * and the answer stays pending until the cut.
   */
  private endConnection(stream: ResponseStream): void {
    this.response.cork(() => {
      stream.sendLast();
      this.response.writeHeader('\r\n0\r\nx-complete', 'true\r\n');
    });
    this.owner.enter('lingering');
    // A reader that was slow may still be.
    if (!stream.hasBlocked) setImmediate(() => this.cut());
  }
}
