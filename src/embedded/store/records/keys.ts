const TWO_32 = 4294967296;

/** Key of `ev`. The buffer is reused by the next call. */
export function positionKey(position: number): Buffer {
  putUint64(positionScratch, 0, position);
  return positionScratch;
}
const positionScratch = Buffer.alloc(8);

/** Key of `sx`. The buffer is reused by the next call. */
export function revisionKey(streamNo: number, revision: number): Buffer {
  revisionScratch.writeUInt32BE(streamNo, 0);
  putUint64(revisionScratch, 4, revision);
  return revisionScratch;
}
const revisionScratch = Buffer.alloc(12);

/** Big-endian. 2^63, the double nearest to 2^63 - 1, is written as 2^63 - 1. */
export function putUint64(out: Buffer, at: number, value: number): void {
  if (value >= 2 ** 63) {
    out.writeUInt32BE(0x7fffffff, at);
    out.writeUInt32BE(0xffffffff, at + 4);
    return;
  }
  out.writeUInt32BE(Math.floor(value / TWO_32), at);
  out.writeUInt32BE(value % TWO_32, at + 4);
}

export function getUint64(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  const low = ((bytes[at + 4]! << 24) | (bytes[at + 5]! << 16) | (bytes[at + 6]! << 8) | bytes[at + 7]!) >>> 0;
  return high * TWO_32 + low;
}
