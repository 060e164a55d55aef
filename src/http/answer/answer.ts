import { Fault, type Refusal, refusal } from '../../errors.ts';
import { jsonText } from '../../json/exact-number.ts';
import { failureText } from '../error-envelopes.ts';
import type { Family, Headers, Reply, Sink } from '../route.ts';
import { bareAnswer, earlyAnswer, hasNoBody } from './early-answer.ts';
import { InFlight } from './in-flight.ts';
import { headerBlock, kept, statusLine } from './response-head.ts';

/**
 * `tryEnd` tells whether the connection still holds earlier answers, and costs a third of a microsecond more than `end`. So
 * of the answers up to this size only some are sent with it, by lot, which nobody can evade who asks again and again and
 * never reads: what a connection holds beyond the kernel's buffers is a few dozen answers at the most.
 */
const smallAnswer = 4 * 1024;
const lots = 16;
const isDrawn = (): boolean => Math.random() * lots < 1;
const json = 'application/json';

/**
 * The answering half of an exchange and the only owner of the core's response object: it writes inside
 * cork, whole answers and refusals.
 */
export abstract class Answer<P> extends InFlight<P> {
  protected family: Family = 'admin';
  /** What CORS adds to the headers. */
  protected originLines = '';
  /** The connection ends with this answer. */
  protected closing = false;
  /** Inside a native callback, where the core has corked the socket. */
  protected corked = true;
  /** More of the request's body is on its way. */
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
      // An unsound header in a refusal is a fault of ours; the refusal itself still stands.
      this.report(error);
      block = headerBlock(undefined, json, this.family, requestId, this.originLines, hints);
    }
    this.send(status, block, body);
  }

  /** Header lines beside those of the reply: its limits as they stand at the moment at which these are made (contract F.5). */
  protected ownLines(): string {
    return this.lease === undefined ? this.originLines : this.lease.lines() + this.originLines;
  }

  private send(status: number, block: string, data: string | Uint8Array): void {
    this.stage = 'answering';
    this.resume();
    const isBare = this.isBare(status, data);
    // The core does not tell of an answer without a body whether its reader takes it: now and then one is the last.
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

  /** An answer that is complete for the client, while the connection stays for what it still sends. */
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
    // Without a length the core takes that of the data, which of a text it alone knows.
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
