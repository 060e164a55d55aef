import type { Refusal } from '../../errors.ts';
import { refusedBody } from '../routing/endpoint.ts';
import type { ByteBudget } from './byte-budget.ts';

/** Read of a refused body, so that the client sees the answer, or to count its tokens (contract F.2). */
export const maxDropped = 1024 * 1024;
const leastCapacity = 16 * 1024;
export const noBytes: Buffer = Buffer.alloc(0);

/** Keeps what arrives of a body, charged to an organization, or drops it. */
export class RequestBody {
  /** 0: the body is dropped. */
  private most: number;
  private readonly announced: number;
  private readonly budget: ByteBudget;
  private readonly organization: string;
  private buffer: Buffer = noBytes;
  private size = 0;
  private dropped = 0;

  /** @param most bytes to keep. @param announced length, or -1 */
  constructor(most: number, announced: number, budget: ByteBudget, organization: string) {
    this.most = most;
    this.announced = announced === -1 ? most : announced;
    this.budget = budget;
    this.organization = organization;
  }

  /** Returns the 413, or the 503 if requests in flight hold too much: then nothing of the body is kept. */
  add(chunk: ArrayBuffer, isLast: boolean): Refusal | undefined {
    const size = this.size + chunk.byteLength;
    if (this.most === 0) {
      this.dropped += chunk.byteLength;
      return undefined;
    }
    const refused = size > this.most ? refusedBody(this.most) : this.budget.take(this.organization, chunk.byteLength);
    if (refused) {
      this.release();
      this.most = 0;
      this.dropped = size;
      return refused;
    }
    if (isLast && this.size === 0) this.buffer = Buffer.allocUnsafe(size);
    this.copy(new Uint8Array(chunk), size);
    this.size = size;
    return undefined;
  }

  /** Copies each piece: uWebSockets only lends its memory. */
  private copy(piece: Uint8Array, size: number): void {
    if (size > this.buffer.length) {
      // Doubles up to the announced length: memory follows what has arrived.
      const doubled = Math.min(this.announced, Math.max(leastCapacity, this.buffer.length * 2));
      const wider = Buffer.allocUnsafeSlow(Math.max(size, doubled));
      wider.set(this.buffer.subarray(0, this.size));
      this.buffer = wider;
    }
    this.buffer.set(piece, this.size);
  }

  get isTooMuch(): boolean {
    return this.dropped > maxDropped;
  }

  /** The bytes, once; they stay charged. */
  take(): Buffer {
    const bytes = this.size === this.buffer.length ? this.buffer : this.buffer.subarray(0, this.size);
    this.buffer = noBytes;
    return bytes;
  }

  release(): void {
    if (this.size > 0) this.budget.give(this.organization, this.size);
    this.size = 0;
    this.buffer = noBytes;
  }
}
