import { crc32 } from 'node:zlib';

/**
 * A chunk of a snapshot, little-endian; a file is a sequence of chunks. Attempts are added to existing records, and a record replaces
 * an earlier one. Record numbers are valid within a run, from the record on.
 *
 * ```
 * "WEIRWIN\0" | u16 version | u32 length of the chunk | f64 wall ms | u32 records | name | u32 run
 *         | u32 ms into the running second | u32 ms into the running ten minutes | i32 ms, as of the journal
 *         | u32 n | n × (i32 number of a key, i32 ms) | records … | u32 CRC-32 of all before
 * record: u8 scope, 3 for a model | i32 number | id | project id | organization id      strings: u8 length, UTF-8; empty where there is none
 *         u16 attempts | u32 ms since the newest | (attempts - 1) × u16 gaps, oldest first
 *         u8 n | n × (u8 seconds ago, u32 tokens) | u8 n | n × (u8 ten minutes ago, u32 requests) | the same of tokens
 * ```
 */
const magic = Buffer.from('WEIRWIN\0');
const version = 2;
const lengthAt = magic.length + 2;
const headBytes = lengthAt + 4 + 8 + 4;

/** Scope of a record with a project's windows for a model, by the model's id. */
export const modelScope = 3;

export class ChunkWriter {
  #buffer = Buffer.allocUnsafe(65_536);
  #at = headBytes;
  #records = 0;

  constructor(name: string, wallMs: number) {
    magic.copy(this.#buffer);
    this.#buffer.writeUInt16LE(version, magic.length);
    this.#buffer.writeDoubleLE(wallMs, lengthAt + 4);
    this.text(name);
  }

  get records(): number {
    return this.#records;
  }

  begin(): void {
    this.#records++;
  }

  u8(value: number): void {
    this.#room(1);
    this.#buffer[this.#at++] = value;
  }

  u16(value: number): void {
    this.#room(2);
    this.#at = this.#buffer.writeUInt16LE(value, this.#at);
  }

  u32(value: number): void {
    this.#room(4);
    this.#at = this.#buffer.writeUInt32LE(value, this.#at);
  }

  i32(value: number): void {
    this.#room(4);
    this.#at = this.#buffer.writeInt32LE(value, this.#at);
  }

  /** Copied as it is, because all supported machines are little-endian. */
  array({ buffer, byteOffset, byteLength }: Uint16Array | Int32Array): void {
    this.#room(byteLength);
    this.#buffer.set(new Uint8Array(buffer, byteOffset, byteLength), this.#at);
    this.#at += byteLength;
  }

  /** Reserves a byte for a count; see `fill`. */
  reserve(): number {
    this.u8(0);
    return this.#at - 1;
  }

  fill(at: number, value: number): void {
    this.#buffer[at] = value;
  }

  /** @throws RangeError above 255 bytes, which no id has (contract A.1) */
  text(value: string): void {
    const length = Buffer.byteLength(value);
    if (length > 255) throw new RangeError('An id is longer than 255 bytes.');
    this.u8(length);
    this.#room(length);
    this.#at += this.#buffer.write(value, this.#at);
  }

  finish(): Uint8Array {
    this.#room(4);
    this.#buffer.writeUInt32LE(this.#at + 4, lengthAt);
    this.#buffer.writeUInt32LE(this.#records, lengthAt + 12);
    this.#buffer.writeUInt32LE(crc32(this.#buffer.subarray(0, this.#at)), this.#at);
    return this.#buffer.subarray(0, this.#at + 4);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const longer = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(longer);
    this.#buffer = longer;
  }
}

export type ChunkFault = 'truncated' | 'not_a_snapshot' | 'other_version' | 'checksum' | 'other_family' | 'malformed';

/** Reads one chunk in the order of the fields. */
export class ChunkReader {
  readonly #buffer: Buffer;
  #at = headBytes;
  readonly wallMs: number;
  readonly records: number;
  readonly length: number;
  /** Of the writer's time at `wallMs`: how much of its second and of its ten minutes had passed. */
  intoSecond = 0;
  intoTenMinutes = 0;
  run = 0;

  private constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.length = buffer.length;
    this.wallMs = buffer.readDoubleLE(lengthAt + 4);
    this.records = buffer.readUInt32LE(lengthAt + 12);
  }

  /** The verified chunk at `from`, or its fault. */
  static at(bytes: Uint8Array, from: number, name: string): ChunkReader | ChunkFault {
    const rest = Buffer.from(bytes.buffer, bytes.byteOffset + from, bytes.byteLength - from);
    if (!rest.subarray(0, magic.length).equals(magic.subarray(0, rest.length))) return 'not_a_snapshot';
    if (rest.length < headBytes) return 'truncated';
    if (rest.readUInt16LE(magic.length) !== version) return 'other_version';
    const length = rest.readUInt32LE(lengthAt);
    if (length > rest.length) return 'truncated';
    if (length < headBytes + 4) return 'malformed';
    if (crc32(rest.subarray(0, length - 4)) !== rest.readUInt32LE(length - 4)) return 'checksum';
    const reader = new ChunkReader(rest.subarray(0, length));
    if (reader.text() !== name) return 'other_family';
    if (reader.#at + 3 * 4 > length - 4) return 'malformed';
    reader.run = reader.u32();
    reader.intoSecond = reader.u32();
    reader.intoTenMinutes = reader.u32();
    return reader;
  }

  u8(): number {
    return this.#buffer.readUInt8(this.#step(1));
  }

  u16(): number {
    return this.#buffer.readUInt16LE(this.#step(2));
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#step(4));
  }

  i32(): number {
    return this.#buffer.readInt32LE(this.#step(4));
  }

  text(): string {
    const length = this.u8();
    const from = this.#step(length);
    return this.#buffer.toString('utf8', from, from + length);
  }

  /** @throws RangeError beyond the end */
  #step(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.length - 4) throw new RangeError('A snapshot ends in the middle of a record.');
    this.#at = at + bytes;
    return at;
  }
}
