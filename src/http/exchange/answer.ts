import { Fault, type Refusal, refusal } from '../../errors.ts';
import { jsonText } from '../../json/exact-number.ts';
import { failureText } from '../error-envelopes.ts';
import type { Family, Headers, Reply, Sink } from '../route.ts';
import { bareAnswer, earlyAnswer, hasNoBody } from './early-answer.ts';
import { InFlight } from './in-flight.ts';
import { headerBlock, kept, statusLine } from './response-head.ts';

/**
 * `tryEnd` reports whether earlier answers are waiting, for a third of a microsecond more than `end`. Up to this size
 * a random sample of answers uses it, which limits a client that never reads to a few dozen answers beyond the
 * kernel's buffers.
 */
const smallAnswer = 4 * 1024;
const lots = 16;
const isDrawn = (): boolean => Math.random() * lots < 1;
const json = 'application/json';

/** Writes whole answers and refusals inside cork; the only owner of uWebSockets' response. */
export abstract class Answer<P> extends InFlight<P> {
  protected family: Family = 'admin';
  protected originLines = '';
  protected closing = false;
  /** True in native callbacks, where uWebSockets has corked the socket. */
  protected corked = true;
  /** More of the body is coming. */
  protected arriving = false;

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
        headerBlock(reply.headers, json, this.family, this.head.requestId, this.ownLines()),
        data,
      );
    } catch (error) {
      this.refuse(this.refusalOf(error));
    }
  }

  protected override refuse(reason: Refusal): void {
    if (!this.isOpen()) return;
    const { requestId } = this.head;
    const { status, hints, body } = failureText(reason, this.family, requestId);
    let block: string;
    try {
      block = headerBlock(reason.headers, json, this.family, requestId, this.ownLines(), hints);
    } catch (error) {
      // An invalid header in a refusal is a fault of ours; the refusal is sent without it.
      this.report(error);
      block = headerBlock(undefined, json, this.family, requestId, this.originLines, hints);
    }
    this.send(status, block, body);
  }

  /** Limits as they are when this is called (contract F.5). */
  protected ownLines(): string {
    return this.lease === undefined ? this.originLines : this.lease.lines() + this.originLines;
  }

  private send(status: number, block: string, data: string | Uint8Array): void {
    this.stage = 'answering';
    this.resume();
    const isBare = this.isBare(status, data);
    // Without a body uWebSockets reports no backpressure, so some are the last of their connection.
    if (this.traffic.draining || (isBare && isDrawn())) this.closing = true;
    const isHead = this.head.method === 'HEAD';
    if (this.closing && hasNoBody(status)) this.sendPending(status, bareAnswer(block));
    else if (isHead && this.closing) this.sendPending(status, bareAnswer(block, Buffer.byteLength(data)));
    else if (this.arriving && typeof data === 'string')
      this.sendPending(status, earlyAnswer(block, isBare ? '' : data));
    else if (this.closing) this.last(() => this.writeLast(status, block, data));
    else if (this.corked) this.write(status, block, data);
    else this.response.cork(() => this.write(status, block, data));
  }

  /** Complete for the client, while the connection stays for the rest of its request. */
  protected sendPending(status: number, text: string): void {
    this.listen();
    if (this.corked) this.writeHead(status, text);
    else this.response.cork(() => this.writeHead(status, text));
    this.linger();
  }

  private isBare(status: number, data: string | Uint8Array): boolean {
    return hasNoBody(status) || data.length === 0 || this.head.method === 'HEAD';
  }

  private writeLast(status: number, block: string, data: string | Uint8Array): void {
    this.writeHead(status, block);
    this.response.end(this.isBare(status, data) ? '' : data, true);
  }

  private write(status: number, block: string, data: string | Uint8Array): void {
    const { response } = this;
    this.writeHead(status, block + kept);
    const isHead = this.head.method === 'HEAD';
    if (isHead || hasNoBody(status)) {
      if (isHead) response.writeHeader('content-length', String(Buffer.byteLength(data)));
      response.endWithoutBody();
      this.finish();
      return;
    }
    if (data.length <= smallAnswer && !isDrawn()) {
      response.end(data);
      this.finish();
      return;
    }
    // Without a length uWebSockets takes that of the data.
    const [, isDone] = response.tryEnd(data, 0);
    if (isDone) this.finish();
    else this.sendRest(typeof data === 'string' ? Buffer.from(data) : data);
  }

  protected writeHead(status: number, block: string): void {
    this.watched?.answers(status);
    if (status !== 200) this.response.writeStatus(statusLine(status));
    this.response.writeHeader('content-type', block);
  }

  protected abstract stream(status: number, headers: Headers | undefined, run: (sink: Sink) => Promise<void>): void;
}
