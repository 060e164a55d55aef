/** Size of a varint. Values from 2^53 on must be bigints. */
export function varintSize(value: number | bigint): number {
  if (typeof value === 'bigint') {
    let size = 1;
    for (let rest = BigInt.asUintN(64, value) >> 7n; rest > 0n; rest >>= 7n) size++;
    return size;
  }
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < 0x10000000) return 4;
  let size = 5;
  for (let rest = value / 0x800000000; rest >= 1; rest /= 128) size++;
  return size;
}

/** Writes a varint. Negative bigints become 64-bit two's complement. @returns the offset after it */
export function putVarint(out: Uint8Array, at: number, value: number | bigint): number {
  if (typeof value === 'bigint') {
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      out[at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    out[at++] = Number(rest);
    return at;
  }
  while (value > 0x7fffffff) {
    out[at++] = (value % 128) | 0x80;
    value = Math.floor(value / 128);
  }
  while (value > 0x7f) {
    out[at++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  out[at++] = value;
  return at;
}

const EMPTY = Buffer.alloc(0);

export function bytesField(field: number, value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  const tag = field * 8 + 2;
  const out = Buffer.allocUnsafe(varintSize(tag) + varintSize(bytes.length) + bytes.length);
  out.set(bytes, putVarint(out, putVarint(out, 0, tag), bytes.length));
  return out;
}

export function varintField(field: number, value: number | bigint): Buffer {
  const tag = field * 8;
  const out = Buffer.allocUnsafe(varintSize(tag) + varintSize(value));
  putVarint(out, putVarint(out, 0, tag), value);
  return out;
}

export function emptyField(field: number): Buffer {
  return bytesField(field, EMPTY);
}

export function messageField(field: number, ...fields: readonly Uint8Array[]): Buffer {
  return bytesField(field, Buffer.concat(fields));
}
