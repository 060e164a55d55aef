import { MalformedMessage, type WireReader } from './wire.ts';
import { putVarint, varintSize } from './write.ts';

/** A UUID's 16 bytes as a latin1 string: cheap to compare and to use as a key. */
export type UuidKey = string;

export type UuidKind = 'string' | 'structured';

export const NIL_UUID: UuidKey = '\0'.repeat(16);

const nibble = new Int8Array(256).fill(-1);
for (let i = 0; i < 16; i++) {
  nibble['0123456789abcdef'.charCodeAt(i)] = i;
  nibble['0123456789ABCDEF'.charCodeAt(i)] = i;
}
const hex = '0123456789abcdef';
const DASH = 0x2d;
const scratch = Buffer.alloc(16);

/** Reads `event_store.client.UUID` in either form. @throws MalformedMessage */
export function readUuid(reader: WireReader): UuidKey {
  let uuid: UuidKey | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) uuid = structured(reader.message());
    else if (field === 2) uuid = fromText(reader.slice());
    else reader.skip();
  }
  if (uuid === undefined) throw new MalformedMessage('empty UUID');
  return uuid;
}

function structured(reader: WireReader): UuidKey {
  scratch.fill(0);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) scratch.writeBigInt64BE(reader.int64(), 0);
    else if (field === 2) scratch.writeBigInt64BE(reader.int64(), 8);
    else reader.skip();
  }
  return scratch.toString('latin1', 0, 16);
}

function fromText(text: Uint8Array): UuidKey {
  let byte = 0;
  let at = 0;
  while (byte < 16) {
    if ((byte === 4 || byte === 6 || byte === 8 || byte === 10) && text[at] === DASH) at++;
    const high = nibble[text[at++] ?? 0]!;
    const low = nibble[text[at++] ?? 0]!;
    if (high < 0 || low < 0) throw new MalformedMessage('UUID with a character that is not hexadecimal');
    scratch[byte++] = high * 16 + low;
  }
  if (at !== text.length) throw new MalformedMessage('UUID of the wrong length');
  return scratch.toString('latin1', 0, 16);
}

const highDigit = new Uint8Array(256);
const lowDigit = new Uint8Array(256);
for (let i = 0; i < 256; i++) {
  highDigit[i] = hex.charCodeAt(i >> 4);
  lowDigit[i] = hex.charCodeAt(i & 15);
}

export function uuidSize(kind: UuidKind, id: Uint8Array, at: number): number {
  if (kind === 'string') return 38;
  const size = 2 + varintSize(half(id, at)) + varintSize(half(id, at + 8));
  return 2 + size;
}

/** Writes the UUID message without its outer tag. @returns the offset after it */
export function writeUuid(kind: UuidKind, out: Uint8Array, to: number, id: Uint8Array, at: number): number {
  if (kind === 'structured') {
    const high = half(id, at);
    const low = half(id, at + 8);
    out[to++] = 0x0a;
    out[to++] = 2 + varintSize(high) + varintSize(low);
    out[to++] = 0x08;
    to = putVarint(out, to, high);
    out[to++] = 0x10;
    return putVarint(out, to, low);
  }
  out[to++] = 0x12;
  out[to++] = 36;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) out[to++] = DASH;
    const byte = id[at + i]!;
    out[to++] = highDigit[byte]!;
    out[to++] = lowDigit[byte]!;
  }
  return to;
}

function half(id: Uint8Array, at: number): bigint {
  return new DataView(id.buffer, id.byteOffset + at, 8).getBigUint64(0);
}

export function uuidMessage(kind: UuidKind, text: string): Buffer {
  const id = Buffer.from(text.replaceAll('-', ''), 'hex');
  const out = Buffer.alloc(uuidSize(kind, id, 0));
  writeUuid(kind, out, 0, id, 0);
  return out;
}
