import { INTERNAL, RESOURCE_EXHAUSTED, RpcError, UNIMPLEMENTED } from './status.ts';

const HEADER = 5;

export function frame(message: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(HEADER + message.length);
  out[0] = 0;
  out.writeUInt32BE(message.length, 1);
  out.set(message, HEADER);
  return out;
}

/** Splits a byte stream into gRPC messages. Only messages that span chunks are copied. */
export class Unframer {
  private readonly maxBytes: number;
  private parts: Buffer[] = [];
  private held = 0;
  private needed = HEADER;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Calls `each` for every completed message. @throws RpcError */
  push(chunk: Buffer, each: (message: Buffer) => void): void {
    let bytes = chunk;
    if (this.held > 0) {
      this.parts.push(chunk);
      this.held += chunk.length;
      if (this.held < this.needed) return;
      bytes = Buffer.concat(this.parts, this.held);
      this.parts = [];
      this.held = 0;
    }
    let at = 0;
    for (;;) {
      const rest = bytes.length - at;
      this.needed = HEADER;
      if (rest >= HEADER) {
        const length = this.check(bytes, at);
        this.needed = HEADER + length;
        if (rest >= this.needed) {
          each(bytes.subarray(at + HEADER, at + HEADER + length));
          at += HEADER + length;
          continue;
        }
      }
      if (rest > 0) {
        this.parts.push(at === 0 ? bytes : bytes.subarray(at));
        this.held = rest;
      }
      return;
    }
  }

  get atBoundary(): boolean {
    return this.held === 0;
  }

  private check(bytes: Buffer, at: number): number {
    const flag = bytes[at]!;
    if (flag === 1) throw new RpcError(UNIMPLEMENTED, 'Compressed messages are not accepted.');
    if (flag !== 0) throw new RpcError(INTERNAL, 'A message frame starts with an unknown flag.');
    const length = bytes.readUInt32BE(at + 1);
    if (length > this.maxBytes) {
      throw new RpcError(RESOURCE_EXHAUSTED, `A message of ${length} bytes exceeds the limit of ${this.maxBytes}.`);
    }
    return length;
  }
}
