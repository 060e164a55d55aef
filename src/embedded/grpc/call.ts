import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Unframer } from './framing.ts';
import { DEADLINE_EXCEEDED, INTERNAL, OK, percentEncode, RpcError } from './status.ts';

const responseHeaders = { ':status': 200, 'content-type': 'application/grpc+proto' };
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** A producer of pages stops above the one and goes on below the other. */
const CONGESTED_BYTES = 1024 * 1024;
const ROOM_BYTES = 256 * 1024;

/** What is on its way when a call is refused arrives within this. */
const latecomerMs = 100;
/** So often it is looked whether a status has left that waits behind other answers. */
const queueLookMs = 10;

/**
 * One gRPC call from the server's side. Messages sent in one turn of the event loop leave in one write; `unsent`
 * says how far the peer is behind. Ends exactly once: by `end`, by `fail`, by its deadline or because the peer left.
 */
export class Call {
  readonly headers: IncomingHttpHeaders;
  /** Bytes handed to `send` that the transport has not taken yet. */
  unsent = 0;
  /** Messages handed to `send` since everything was last taken. */
  unsentMessages = 0;
  /** True once the status is decided or the peer is gone; nothing sent after that arrives. */
  over = false;
  onMessage: (message: Buffer) => void = () => {};
  /** The client has sent all its messages. */
  onHalfClose: () => void = () => {};
  /** Called once, when the call is over for whatever reason. */
  onOver: () => void = () => {};
  private readonly stream: ServerHttp2Stream;
  private readonly unframer: Unframer;
  private readonly outbox: Buffer[] = [];
  private roomWaiters: (() => void)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private ended = false;
  /** Something of the request's body has come. */
  private hasBegun = false;
  private readonly release: (call: Call) => void;

  /** @param release called once, when the call is over, before `onOver` */
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    maxMessageBytes: number,
    release: (call: Call) => void,
  ) {
    this.stream = stream;
    this.release = release;
    this.headers = headers;
    this.unframer = new Unframer(maxMessageBytes);
    stream.on('error', () => this.finish());
    stream.on('close', () => this.finish());
    stream.on('aborted', () => this.finish());
  }

  /** Starts reading messages; the handlers must be in place. */
  listen(timeoutMs: number | undefined): void {
    if (timeoutMs !== undefined && timeoutMs <= MAX_TIMEOUT_MS) {
      const expire = () => this.fail(new RpcError(DEADLINE_EXCEEDED, 'The deadline of the call has passed.'));
      if (timeoutMs <= 0) {
        expire();
        return;
      }
      this.timer = setTimeout(expire, timeoutMs);
    }
    this.stream.on('data', (chunk: Buffer) => {
      this.hasBegun = true;
      if (this.over) return;
      try {
        this.unframer.push(chunk, (message) => {
          if (!this.over) this.onMessage(message);
        });
      } catch (error) {
        this.fail(error);
      }
    });
    this.stream.on('end', () => {
      if (this.over) return;
      if (!this.unframer.atBoundary) {
        this.fail(new RpcError(INTERNAL, 'The last message is cut off.'));
        return;
      }
      this.onHalfClose();
    });
  }

  /** Stops reading until `resume`: the flow control window then holds the client back. */
  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    if (!this.over) this.stream.resume();
  }

  /** Sends framed bytes, of one message or of several. */
  send(frames: Buffer, messages = 1): void {
    if (this.over) return;
    this.unsent += frames.length;
    this.unsentMessages += messages;
    this.outbox.push(frames);
    if (this.outbox.length === 1) queueMicrotask(() => this.flush());
  }

  /** The peer is so far behind that a producer should wait for `room`. */
  get congested(): boolean {
    return this.unsent > CONGESTED_BYTES;
  }

  /** Resolves when the peer has taken enough to send more, or when the call is over. */
  room(): Promise<void> {
    if (this.over || this.unsent <= ROOM_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.roomWaiters.push(resolve));
  }

  /** Ends the call with status OK. */
  end(): void {
    this.close(OK, '', {});
  }

  /**
   * Ends the call with an error status: that of an RpcError, or the `rpcCode` that another error names for itself.
   * Any other error is INTERNAL and keeps its text to itself.
   */
  fail(error: unknown): void {
    if (error instanceof RpcError) this.close(error.code, error.message, error.trailers);
    else if (error instanceof Error && 'rpcCode' in error) this.close(Number(error.rpcCode), error.message, {});
    else this.close(INTERNAL, 'Internal error.', {});
  }

  /** Breaks the whole connection without a word, as a network failure would; for tests. */
  cut(): void {
    this.stream.session?.destroy();
    this.finish();
  }

  private flush(): void {
    if (this.outbox.length === 0) return;
    const bytes = this.outbox.length === 1 ? this.outbox[0]! : Buffer.concat(this.outbox);
    this.outbox.length = 0;
    if (this.stream.destroyed || this.stream.closed) return;
    if (!this.stream.headersSent) this.stream.respond(responseHeaders, { waitForTrailers: true });
    this.stream.write(bytes, () => {
      this.unsent -= bytes.length;
      if (this.unsent === 0) this.unsentMessages = 0;
      if (this.unsent <= ROOM_BYTES) this.wake();
    });
  }

  private close(code: number, message: string, extra: Readonly<Record<string, string>>): void {
    if (this.over) return;
    this.flush();
    this.ended = true;
    const stream = this.stream;
    const trailers = {
      'grpc-status': String(code),
      ...(message && { 'grpc-message': percentEncode(message) }),
      ...extra,
    };
    if (!stream.destroyed && !stream.closed) {
      if (stream.headersSent) {
        stream.on('wantTrailers', () => {
          if (stream.destroyed) return;
          stream.sendTrailers(trailers);
          this.stopPeer();
        });
        stream.end();
        // Unread bytes would keep the stream from ever ending.
        stream.resume();
      } else {
        stream.respond({ ...responseHeaders, ...trailers }, { endStream: true });
        if (this.hasBegun) this.stopPeer();
        else this.stopLatecomer();
      }
    }
    this.finish();
  }

  /**
   * A request that is refused before any of it has come is mostly on its way and ends by itself: Node 22 and later drop the
   * status of one that is reset before. Who sends more, or nothing, is stopped.
   */
  private stopLatecomer(): void {
    const latecomer = setTimeout(() => this.stopPeer(), latecomerMs);
    this.stream.once('close', () => clearTimeout(latecomer));
    this.stream.once('data', () => this.stopPeer());
  }

  /**
   * Resets a call whose client is still sending, right behind its status (RFC 9113, 8.1): there are clients, .NET's among
   * them, that look at the status no sooner than they have sent everything.
   */
  private stopPeer(): void {
    setImmediate(() => {
      const { stream } = this;
      if (stream.destroyed || stream.closed || stream.readableEnded) return;
      // A reset overtakes what the connection has not sent yet, and the status would be lost.
      if ((stream.session?.state.outboundQueueSize ?? 0) > 0) setTimeout(() => this.stopPeer(), queueLookMs);
      else stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    if (!this.ended) this.outbox.length = 0;
    clearTimeout(this.timer);
    this.release(this);
    this.onOver();
    this.wake();
  }

  private wake(): void {
    const waiters = this.roomWaiters;
    this.roomWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
