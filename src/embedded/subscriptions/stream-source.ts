import { streamDeleted } from '../grpc/refusals.ts';
import { addResolved } from '../store/read/links.ts';
import { Page } from '../store/read/page.ts';
import { PAGE_EVENTS, type ReadSetup, StreamCursor } from '../store/read/stream-cursor.ts';
import { isLink, TOMBSTONE_REVISION } from '../store/records/record.ts';
import type { LiveBatch } from './live-batch.ts';
import type { Source } from './subscription.ts';

/** Follows one stream from after a revision. */
export class StreamSource implements Source {
  ending: Error | undefined;
  private readonly setup: ReadSetup;
  private readonly name: string;
  private readonly cursor: StreamCursor;

  constructor(setup: ReadSetup, name: string, after: number) {
    this.setup = setup;
    this.name = name;
    this.cursor = new StreamCursor(setup, name, after + 1, false);
  }

  fill(page: Page): void {
    this.cursor.fill(page, PAGE_EVENTS);
  }

  get done(): boolean {
    return this.cursor.done;
  }

  beforeCaughtUp(page: Page): void {
    if (!this.cursor.stream.committedTombstone) return;
    this.cursor.fillTombstone(page);
    this.ending = streamDeleted(this.name);
  }

  live(batch: LiveBatch, send: (frames: Buffer, messages: number) => void): void {
    const { records } = batch;
    let from = 0;
    while (from < records.length && records[from]!.revision < this.cursor.revision) from++;
    if (from === records.length) return;
    const last = records.at(-1)!.revision;
    if (this.setup.resolveLinks && records.some(({ bytes }) => isLink(bytes))) {
      const { reader, streams, uuids, now } = this.setup;
      const page = new Page();
      for (const { bytes, position } of records.slice(from)) {
        addResolved(page, { bytes, length: bytes.length }, position, uuids, { reader, streams, now: now() });
      }
      send(page.take(), page.messages);
    } else send(batch.frames(this.setup.uuids, from, records.length), records.length - from);
    if (last === TOMBSTONE_REVISION) this.ending = streamDeleted(this.name);
    else this.cursor.revision = last + 1;
  }

  skip(): void {
    this.cursor.revision = this.cursor.stream.committedLast + 1;
  }
}
