const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Not the expected protobuf message; answered with INVALID_ARGUMENT. */
export class MalformedMessage extends Error {}

const TWO_32 = 4294967296;

export const MINUS_ONE = 2n ** 64n - 1n;

/** Reads protobuf fields without copying. Unsigned integers are numbers below 2^53 and bigints above. */
export class WireReader {
  readonly bytes: Buffer;
  private at: number;
  private readonly end: number;
  private wire = 0;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** The next field's number; 0 at the end. */
  field(): number {
    if (this.at >= this.end) return 0;
    const tag = this.uint32();
    this.wire = tag & 7;
    const number = tag >>> 3;
    if (number === 0) throw new MalformedMessage('field number 0');
    return number;
  }

  uint64(): number | bigint {
    const { bytes, end } = this;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw new MalformedMessage('varint cut off');
      const byte = bytes[this.at++]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else high |= (bits & 1) << 31;
      if (byte < 0x80) {
        high >>>= 0;
        low >>>= 0;
        return high < 0x200000 ? high * TWO_32 + low : (BigInt(high) << 32n) | BigInt(low);
      }
    }
    throw new MalformedMessage('varint longer than ten bytes');
  }

  int64(): bigint {
    return BigInt.asIntN(64, BigInt(this.uint64()));
  }

  /** Longer integers are truncated, as protobuf specifies. */
  uint32(): number {
    const byte = this.bytes[this.at]!;
    if (this.at < this.end && byte < 0x80) {
      this.at++;
      return byte;
    }
    const value = this.uint64();
    return typeof value === 'number' ? value % TWO_32 : Number(value & 0xffffffffn);
  }

  bool(): boolean {
    return this.uint64() !== 0;
  }

  slice(): Buffer {
    const start = this.open();
    return this.bytes.subarray(start, this.at);
  }

  text(): string {
    const start = this.open();
    return this.bytes.toString('utf8', start, this.at);
  }

  message(): WireReader {
    const start = this.open();
    return new WireReader(this.bytes, start, this.at);
  }

  skip(): void {
    if (this.wire === VARINT) this.uint64();
    else if (this.wire === BYTES) this.open();
    else if (this.wire === FIXED64) this.advance(8);
    else if (this.wire === FIXED32) this.advance(4);
    else throw new MalformedMessage(`wire type ${this.wire}`);
  }

  private open(): number {
    if (this.wire !== BYTES) throw new MalformedMessage(`wire type ${this.wire} where bytes were expected`);
    const length = this.uint32();
    const start = this.at;
    this.advance(length);
    return start;
  }

  private advance(count: number): void {
    if (count > this.end - this.at) throw new MalformedMessage('field longer than its message');
    this.at += count;
  }
}
