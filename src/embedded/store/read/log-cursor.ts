import { encodeCheckpoint } from '../../codec/read-response.ts';
import type { Filter } from '../records/record.ts';
import { addResolved } from './links.ts';
import type { Page } from './page.ts';
import { missing } from './reader.ts';
import { PAGE_BYTES, type ReadSetup } from './stream-cursor.ts';

/** Records read in one turn of the event loop. */
const LOOKED_AT = 1024;

/** Counts considered records until a checkpoint is due. */
export class CheckpointClock {
  private readonly interval: number;
  private considered = 0;

  constructor(interval: number) {
    this.interval = interval;
  }

  tick(): boolean {
    if (++this.considered < this.interval) return false;
    this.considered = 0;
    return true;
  }
}

/** Reads $all page by page: forwards from a position inclusive, backwards exclusive. */
export class LogCursor {
  position: number;
  /** Position of the newest considered record. */
  considered: number | undefined;
  private readonly setup: ReadSetup;
  private readonly filter: Filter | undefined;
  private readonly backwards: boolean;
  private readonly clock: CheckpointClock | undefined;
  private exhausted = false;

  constructor(
    setup: ReadSetup,
    position: number,
    backwards: boolean,
    filter: Filter | undefined,
    clock?: CheckpointClock,
  ) {
    this.setup = setup;
    this.position = position;
    this.backwards = backwards;
    this.filter = filter;
    this.clock = clock;
  }

  get done(): boolean {
    return this.backwards ? this.exhausted : this.position >= this.setup.reader.head;
  }

  /** Adds up to `limit` events, and checkpoints that are due. */
  fill(page: Page, limit: number): void {
    if (this.backwards) this.fillBackwards(page, limit);
    else this.fillForwards(page, limit);
  }

  private fillForwards(page: Page, limit: number): void {
    const { reader } = this.setup;
    const { head } = reader;
    for (let looked = 0; looked < LOOKED_AT && this.position < head; looked++) {
      if (page.events >= limit || page.length >= PAGE_BYTES) return;
      const record = reader.at(this.position);
      if (record === undefined) {
        this.position = reader.next(this.position);
        continue;
      }
      const position = this.position;
      this.position += record.length;
      this.consider(page, record, position);
    }
  }

  private fillBackwards(page: Page, limit: number): void {
    const { reader } = this.setup;
    const positions = reader.before(this.position, Math.min(LOOKED_AT, Math.max(limit, 32)));
    if (positions.length === 0) {
      if (this.position > 1 && !reader.isGap(1, this.position)) throw missing(1);
      this.exhausted = true;
    }
    for (const position of positions) {
      if (page.events >= limit || page.length >= PAGE_BYTES) return;
      let record = reader.at(position);
      if (record === undefined) throw missing(position);
      const end = position + record.length;
      if (end < this.position) {
        if (!reader.isGap(end, this.position)) throw missing(end);
        // isGap has reused the read buffer.
        record = reader.at(position)!;
      }
      this.position = position;
      this.consider(page, record, position);
    }
  }

  private consider(page: Page, record: { bytes: Buffer; length: number }, position: number): void {
    this.considered = position;
    if (this.filter === undefined || this.filter(record.bytes)) {
      const { reader, streams, resolveLinks, uuids, now } = this.setup;
      addResolved(page, record, position, uuids, resolveLinks ? { reader, streams, now: now() } : undefined);
    }
    if (this.clock?.tick()) page.add(encodeCheckpoint(position));
  }
}
