import type { UuidKind } from '../../codec/uuid.ts';
import { firstVisible, type StreamMetadata } from '../index/metadata.ts';
import { isMetastreamName, type Stream, type Streams } from '../index/streams.ts';
import { StoreCorrupt } from '../records/corrupt.ts';
import { TOMBSTONE_REVISION } from '../records/record.ts';
import { addResolved } from './links.ts';
import type { Page } from './page.ts';
import { isExpired, type Reader } from './reader.ts';

export const PAGE_EVENTS = 256;
export const PAGE_BYTES = 256 * 1024;

export interface ReadSetup {
  readonly reader: Reader;
  readonly streams: Streams;
  readonly uuids: UuidKind;
  readonly resolveLinks: boolean;
  readonly now: () => number;
}

const METASTREAM_KEEPS: StreamMetadata = { revision: 0, raw: Buffer.alloc(0), maxCount: 1 };

/** Reads one stream page by page, without what its metadata hides. */
export class StreamCursor {
  revision: number;
  /** Called once, before the first event is added. */
  onFirst: ((page: Page, revision: number) => void) | undefined;
  private readonly setup: ReadSetup;
  private readonly name: string;
  private readonly step: 1 | -1;

  constructor(setup: ReadSetup, name: string, revision: number, backwards: boolean) {
    this.setup = setup;
    this.name = name;
    this.revision = revision;
    this.step = backwards ? -1 : 1;
  }

  /** Looked up each time, because between pages an idle stream may have been evicted and loaded again. */
  get stream(): Stream {
    return this.setup.streams.get(this.name);
  }

  /** There are no further committed events in this direction. */
  get done(): boolean {
    return this.step > 0 ? this.revision > this.stream.committedLast : this.revision < 0;
  }

  /** Adds up to `limit` events, fewer when the page is large enough. */
  fill(page: Page, limit: number): void {
    const { reader, streams, uuids, resolveLinks } = this.setup;
    const stream = this.stream;
    const now = this.setup.now();
    const metadata = isMetastreamName(this.name) ? METASTREAM_KEEPS : streams.committedMetadata(stream);
    const last = stream.committedLast;
    const first = Math.max(firstVisible(metadata, last), stream.first);
    const resolve = resolveLinks ? { reader, streams, now } : undefined;
    if (this.step > 0) this.revision = Math.max(this.revision, first);
    else this.revision = Math.min(this.revision, last);
    let looked = 0;
    while (
      page.events < limit &&
      page.length < PAGE_BYTES &&
      looked++ < 2 * PAGE_EVENTS &&
      this.revision >= first &&
      this.revision <= last
    ) {
      const revision = this.revision;
      const record = reader.event(stream, revision);
      if (record === undefined) throw new StoreCorrupt(`Event ${revision} of stream ${this.name} is missing.`);
      this.revision += this.step;
      if (isExpired(record.bytes, metadata?.maxAge, now)) continue;
      if (this.onFirst !== undefined) {
        this.onFirst(page, revision);
        this.onFirst = undefined;
      }
      addResolved(page, record, record.position, uuids, resolve);
    }
    if (this.step < 0 && this.revision < first) this.revision = -1;
  }

  /** Adds the tombstone's event, if there is one. */
  fillTombstone(page: Page): void {
    const record = this.setup.reader.event(this.stream, TOMBSTONE_REVISION);
    if (record !== undefined) page.addEvent(record, undefined, record.position, this.setup.uuids);
  }
}
