import type { UuidKind } from '../../codec/uuid.ts';
import { firstVisible, isSoftDeleted } from '../index/metadata.ts';
import type { Streams } from '../index/streams.ts';
import { dataStart, isLink } from '../records/record.ts';
import type { Page } from './page.ts';
import { isExpired, type Reader, type RecordView } from './reader.ts';

interface Resolve {
  readonly reader: Reader;
  readonly streams: Streams;
  readonly now: number;
}

/** Adds an event to a page. With `resolve` a link (`revision@stream`) is resolved; one with other data is an ordinary event. */
export function addResolved(
  page: Page,
  record: RecordView,
  position: number,
  uuids: UuidKind,
  resolve: Resolve | undefined,
): void {
  if (resolve === undefined || !isLink(record.bytes)) {
    page.addEvent(record, undefined, position, uuids);
    return;
  }
  // The next read reuses the buffer.
  const link = { bytes: Buffer.from(record.bytes.subarray(0, record.length)), length: record.length };
  const text = link.bytes.toString('utf8', dataStart(link.bytes, link.length), link.length);
  const parts = /^(\d{1,15})@([\s\S]+)$/.exec(text);
  if (parts === null) page.addEvent(link, undefined, position, uuids);
  else page.addEvent(findTarget(Number(parts[1]), parts[2]!, resolve), link, position, uuids);
}

/** The event that a link names, unless it is gone or hidden. */
function findTarget(revision: number, name: string, { reader, streams, now }: Resolve): RecordView | undefined {
  const stream = streams.get(name);
  const metadata = streams.committedMetadata(stream);
  if (stream.committedTombstone || isSoftDeleted(metadata) || revision > stream.committedLast) return undefined;
  if (revision < firstVisible(metadata, stream.committedLast)) return undefined;
  const target = reader.event(stream, revision);
  return target !== undefined && !isExpired(target.bytes, metadata?.maxAge, now) ? target : undefined;
}
