import type { Headers, Sink } from '../route.ts';
import { Answer } from './answer.ts';
import { bareAnswer } from './early-answer.ts';
import { headerBlock, kept } from './response-head.ts';
import { ResponseSink, type StreamOwner } from './sink.ts';

/** Streams an answer while it is produced. */
export abstract class StreamedAnswer<P> extends Answer<P> implements StreamOwner {
  private sink: ResponseSink | undefined;
  private streamed: { readonly status: number; readonly block: string } | undefined;

  /** Runs even if the client is gone, so that the producer can end its work. */
  protected override stream(status: number, headers: Headers | undefined, run: (sink: Sink) => Promise<void>): void {
    const isHead = this.head.method === 'HEAD';
    const sink = new ResponseSink(isHead ? this.nobody() : this);
    if (!isHead) this.sink = sink;
    if (!this.isOpen()) this.gone = true;
    else if (isHead) this.sendHead(status, headers);
    else this.openStream(status, headers);
    Promise.resolve(sink)
      .then(run)
      .then(
        () => this.streamEnded(sink),
        (error: unknown) => this.streamFailed(sink, error),
      )
      .catch((error: unknown) => this.report(error));
  }

  override get isStreaming(): boolean {
    return this.streamed !== undefined && this.stage === 'answering';
  }

  private nobody(): StreamOwner {
    return { response: this.response, gone: true, begin() {}, cut() {}, now: () => this.now() };
  }

  /** Undefined if a header is invalid, which was reported. */
  private blockOf(headers: Headers | undefined): string | undefined {
    try {
      return headerBlock(headers, 'text/event-stream', this.family, this.head.requestId, this.ownLines());
    } catch (error) {
      this.refuse(this.refusalOf(error));
      this.gone = true;
      return undefined;
    }
  }

  /** For `HEAD`. The length is unknown, so it is the last of its connection. */
  private sendHead(status: number, headers: Headers | undefined): void {
    const block = this.blockOf(headers);
    if (block === undefined) return;
    this.resume();
    this.sendPending(status, bareAnswer(block));
  }

  private openStream(status: number, headers: Headers | undefined): void {
    const block = this.blockOf(headers);
    if (block === undefined) return;
    this.streamed = { status, block };
    this.stage = 'answering';
    this.resume();
    this.listen();
    this.count();
  }

  begin(): void {
    const { status, block } = this.streamed!;
    this.writeHead(status, block + (this.closing ? '\r\nConnection: close' : kept));
  }

  private async streamEnded(sink: ResponseSink): Promise<void> {
    // The stream stays in flight until the reader has taken it.
    await sink.drained();
    if (this.gone || this.stage !== 'answering') return;
    if (!sink.begun && !sink.holdsLast) this.endEmpty();
    else if (this.closing) this.endConnection(sink);
    else {
      this.response.cork(() => {
        sink.sendLast();
        this.response.end();
      });
      this.finish();
    }
  }

  /** uWebSockets reports no backpressure without a body, so it is the last of its connection. */
  private endEmpty(): void {
    const { status, block } = this.streamed!;
    this.last(() => {
      this.writeHead(status, block);
      this.response.end('', true);
    });
  }

  /**
   * Ends a stream and its connection after a chunked request. uWebSockets' `end` without close would serve what
   * follows, with close it writes a header into the body. So the last chunk is written as header lines (a trailer),
   * and the answer stays pending until the cut.
   */
  private endConnection(sink: ResponseSink): void {
    this.response.cork(() => {
      sink.sendLast();
      this.response.writeHeader('\r\n0\r\nx-complete', 'true\r\n');
    });
    this.linger();
    // A reader that was slow may still be.
    if (!sink.hasBlocked) setImmediate(() => this.cut());
  }

  /** After the first byte only a cut connection can report a failure. */
  private streamFailed(sink: ResponseSink, error: unknown): void {
    if (this.gone || this.stage !== 'answering') return;
    const reason = this.refusalOf(error);
    if (sink.begun) {
      this.cut();
      return;
    }
    this.stage = 'handling';
    this.refuse(reason);
  }

  protected override blockedSince(): number | undefined {
    return this.sink ? this.sink.blockedSince : super.blockedSince();
  }

  protected override left(): void {
    this.sink?.wake();
  }
}
