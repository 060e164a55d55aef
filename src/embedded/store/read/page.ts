import { type UuidKind, uuidSize, writeUuid } from '../../codec/uuid.ts';
import { putVarint, varintSize } from '../../codec/write.ts';
import { frame } from '../../grpc/framing.ts';
import { ID, RECORDED } from '../records/record.ts';
import type { RecordView } from './reader.ts';

const FIRST_BYTES = 128 * 1024;

/** Framed ReadResp messages in one buffer, for a single write. */
export class Page {
  events = 0;
  messages = 0;
  private bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private used = 0;

  get length(): number {
    return this.used;
  }

  /** The page must not be written to afterwards. */
  take(): Buffer {
    return this.bytes.subarray(0, this.used);
  }

  /** For messages other than events. */
  add(message: Uint8Array): void {
    const framed = frame(message);
    this.reserve(framed.length);
    this.bytes.set(framed, this.used);
    this.used += framed.length;
    this.messages++;
  }

  /**
   * Adds ReadResp.event: the stored fields, preceded by the id.
   * @param event undefined for a link without a target
   * @param position in $all, of the link if there is one
   */
  addEvent(event: RecordView | undefined, link: RecordView | undefined, position: number, uuids: UuidKind): void {
    const eventSize = event === undefined ? 0 : recordedSize(event, uuids);
    const linkSize = link === undefined ? 0 : recordedSize(link, uuids);
    let size = 1 + varintSize(position);
    if (event !== undefined) size += 1 + varintSize(eventSize) + eventSize;
    if (link !== undefined) size += 1 + varintSize(linkSize) + linkSize;
    const message = 1 + varintSize(size) + size;
    this.reserve(5 + message);
    const out = this.bytes;
    let at = this.used;
    out[at++] = 0;
    out[at++] = message >>> 24;
    out[at++] = message >>> 16;
    out[at++] = message >>> 8;
    out[at++] = message;
    out[at++] = 0x0a;
    at = putVarint(out, at, size);
    if (event !== undefined) at = putRecorded(out, at, 0x0a, eventSize, event, uuids);
    if (link !== undefined) at = putRecorded(out, at, 0x12, linkSize, link, uuids);
    out[at++] = 0x18;
    this.used = putVarint(out, at, position);
    this.events++;
    this.messages++;
  }

  private reserve(count: number): void {
    const needed = this.used + count;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}

function recordedSize({ bytes, length }: RecordView, uuids: UuidKind): number {
  return 2 + uuidSize(uuids, bytes, ID) + length - RECORDED;
}

function putRecorded(out: Buffer, at: number, tag: number, size: number, record: RecordView, uuids: UuidKind): number {
  const { bytes, length } = record;
  out[at++] = tag;
  at = putVarint(out, at, size);
  out[at++] = 0x0a;
  out[at++] = uuidSize(uuids, bytes, ID);
  at = writeUuid(uuids, out, at, bytes, ID);
  bytes.copy(out, at, RECORDED, length);
  return at + length - RECORDED;
}
