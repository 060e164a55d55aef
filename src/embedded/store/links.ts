import type { UuidKind } from '../codec/uuid.ts';
import { firstVisible, isSoftDeleted } from './metadata.ts';
import type { Page } from './page.ts';
import { isExpired, type Reader, type RecordView } from './reader.ts';
import { dataStart, isLink } from './record.ts';
import type { Streams } from './streams.ts';

/** Adds an event to a page, resolved when it is a link and `resolve` is set. */
export function addResolved(
  page: Page,
  record: RecordView,
  position: number,
  uuids: UuidKind,
  resolve: { readonly reader: Reader; readonly streams: Streams; readonly now: number } | undefined,
): void {
  if (resolve === undefined || !isLink(record.bytes)) {
    page.addEvent(record, undefined, position, uuids);
    return;
  }
  // The next read reuses the buffer that the link is in.
  const link = { bytes: Buffer.from(record.bytes.subarray(0, record.length)), length: record.length };
  const text = link.bytes.toString('utf8', dataStart(link.bytes, link.length), link.length);
  page.addEvent(findTarget(text, resolve.reader, resolve.streams, resolve.now), link, position, uuids);
}

/** The event that `revision@stream` names, unless it is gone or hidden. */
function findTarget(text: string, reader: Reader, streams: Streams, now: number): RecordView | undefined {
  const parts = /^(\d{1,15})@([\s\S]+)$/.exec(text);
  if (parts === null) return undefined;
  const revision = Number(parts[1]);
  const stream = streams.get(parts[2]!);
  const metadata = streams.committedMetadata(stream);
  if (stream.committedTombstone || isSoftDeleted(metadata) || revision > stream.committedLast) return undefined;
  if (revision < firstVisible(metadata, stream.committedLast)) return undefined;
  const target = reader.event(stream, revision);
  return target !== undefined && !isExpired(target.bytes, metadata?.maxAge, now) ? target : undefined;
}
