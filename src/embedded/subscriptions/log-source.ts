import { encodeCheckpoint } from '../codec/read-response.ts';
import { frame } from '../grpc/framing.ts';
import { addResolved } from '../store/read/links.ts';
import { CheckpointClock, LogCursor } from '../store/read/log-cursor.ts';
import { Page } from '../store/read/page.ts';
import { PAGE_EVENTS, type ReadSetup } from '../store/read/stream-cursor.ts';
import type { Filter } from '../store/records/record.ts';
import { isLink } from '../store/records/record.ts';
import type { LiveBatch } from './live-batch.ts';
import type { Source } from './subscription.ts';

/** Follows $all from a position on (inclusive). */
export class LogSource implements Source {
  readonly ending = undefined;
  private readonly setup: ReadSetup;
  private readonly cursor: LogCursor;
  private readonly filter: Filter | undefined;
  private readonly clock: CheckpointClock | undefined;

  /**
   * @param after position of the last event that the client has, for the first checkpoint
   * @param interval records from one checkpoint to the next, for filtered subscriptions
   */
  constructor(
    setup: ReadSetup,
    position: number,
    after: number | undefined,
    filter: Filter | undefined,
    interval: number,
  ) {
    this.setup = setup;
    this.filter = filter;
    this.clock = filter && new CheckpointClock(interval);
    this.cursor = new LogCursor(setup, position, false, filter, this.clock);
    this.cursor.considered = after;
  }

  fill(page: Page): void {
    this.cursor.fill(page, PAGE_EVENTS);
  }

  get done(): boolean {
    return this.cursor.done;
  }

  beforeCaughtUp(page: Page): void {
    if (this.filter !== undefined && this.cursor.considered !== undefined) {
      page.add(encodeCheckpoint(this.cursor.considered));
    }
  }

  live(batch: LiveBatch, send: (frames: Buffer, messages: number) => void): void {
    const { records } = batch;
    const { uuids, resolveLinks } = this.setup;
    let runStart = -1;
    const endRun = (to: number) => {
      if (runStart >= 0) send(batch.frames(uuids, runStart, to), to - runStart);
      runStart = -1;
    };
    for (let i = 0; i < records.length; i++) {
      const { position, bytes } = records[i]!;
      if (position < this.cursor.position) continue;
      this.cursor.position = position + bytes.length;
      this.cursor.considered = position;
      if (this.filter !== undefined && !this.filter(bytes)) endRun(i);
      else if (resolveLinks && isLink(bytes)) {
        endRun(i);
        this.sendResolved(bytes, position, send);
      } else if (runStart < 0) runStart = i;
      if (this.clock?.tick()) {
        endRun(i + 1);
        send(frame(encodeCheckpoint(position)), 1);
      }
    }
    endRun(records.length);
  }

  skip(): void {
    this.cursor.position = this.setup.reader.head;
  }

  private sendResolved(bytes: Buffer, position: number, send: (frames: Buffer, messages: number) => void): void {
    const { reader, streams, uuids, now } = this.setup;
    const page = new Page();
    addResolved(page, { bytes, length: bytes.length }, position, uuids, { reader, streams, now: now() });
    send(page.take(), page.messages);
  }
}
