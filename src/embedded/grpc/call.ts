import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Unframer } from './framing.ts';
import { DEADLINE_EXCEEDED, INTERNAL, OK, percentEncode, RpcError } from './status.ts';

const responseHeaders = { ':status': 200, 'content-type': 'application/grpc+proto' };
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** Above the first value producers of pages wait, until `unsent` is below the second. */
const CONGESTED_BYTES = 1024 * 1024;
const ROOM_BYTES = 256 * 1024;

/** Time for messages that were sent before the client learned of a refusal. */
const latecomerMs = 100;
const queueLookMs = 10;

/** The server's side of one gRPC call. Messages of one turn of the event loop leave in one write. Ends exactly once. */
export class Call {
  readonly headers: IncomingHttpHeaders;
  unsent = 0;
  /** Messages since everything was last taken. */
  unsentMessages = 0;
  /** The status is decided or the peer is gone. */
  over = false;
  onMessage: (message: Buffer) => void = () => {};
  /** Called when the client has sent all its messages. */
  onHalfClose: () => void = () => {};
  /** Called once, however the call ends. */
  onOver: () => void = () => {};
  private readonly stream: ServerHttp2Stream;
  private readonly unframer: Unframer;
  private readonly outbox: Buffer[] = [];
  private roomWaiters: (() => void)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private ended = false;
  /** A part of the request's body has arrived. */
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

  /** Starts reading messages. Set the handlers first. */
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

  /** Stops reading, so that flow control stops the client. */
  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    if (!this.over) this.stream.resume();
  }

  send(frames: Buffer, messages = 1): void {
    if (this.over) return;
    this.unsent += frames.length;
    this.unsentMessages += messages;
    this.outbox.push(frames);
    if (this.outbox.length === 1) queueMicrotask(() => this.flush());
  }

  get congested(): boolean {
    return this.unsent > CONGESTED_BYTES;
  }

  /** Resolves when more can be sent, or when the call is over. */
  room(): Promise<void> {
    if (this.over || this.unsent <= ROOM_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.roomWaiters.push(resolve));
  }

  end(): void {
    this.close(OK, '', {});
  }

  /** Ends the call with the status of an RpcError or an error's `rpcCode`; others are INTERNAL without their text. */
  fail(error: unknown): void {
    if (error instanceof RpcError) this.close(error.code, error.message, error.trailers);
    else if (error instanceof Error && 'rpcCode' in error) this.close(Number(error.rpcCode), error.message, {});
    else this.close(INTERNAL, 'Internal error.', {});
  }

  /** Breaks the connection, for tests. */
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
        // With unread bytes the stream would never end.
        stream.resume();
      } else {
        stream.respond({ ...responseHeaders, ...trailers }, { endStream: true });
        if (this.hasBegun) this.stopPeer();
        else this.stopLatecomer();
      }
    }
    this.finish();
  }

  /** Resets after a delay, because Node from 22 on drops the status of a stream that is reset before its body arrives. */
  private stopLatecomer(): void {
    const latecomer = setTimeout(() => this.stopPeer(), latecomerMs);
    this.stream.once('close', () => clearTimeout(latecomer));
    this.stream.once('data', () => this.stopPeer());
  }

  /** Resets a call whose client still sends (RFC 9113, 8.1): some, such as .NET's, read the status only after sending all. */
  private stopPeer(): void {
    setImmediate(() => {
      const { stream } = this;
      if (stream.destroyed || stream.closed || stream.readableEnded) return;
      // A reset overtakes queued data, and the status would be lost.
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
