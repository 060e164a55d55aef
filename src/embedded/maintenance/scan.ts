import type { Database } from 'lmdb';
import { committedEnd, FORMAT, type LogFiles } from '../store/database.ts';
import { decodeStream, type StreamEntry } from '../store/index/streams.ts';
import { getUint64, positionKey, revisionKey } from '../store/records/keys.ts';
import { nameOf, revisionOf, streamNoOf, TOMBSTONE_REVISION, verifyRecord } from '../store/records/record.ts';
import { type Damage, Damages, type VerifyReport } from './report.ts';

type Table = Database<Buffer, Buffer>;

export interface ScanOptions {
  readonly files: LogFiles;
  /** Called now and then with the table and key, and the share done (0 to 1). */
  readonly tell: (at: string, share: number) => void;
  readonly skipChecksums: boolean;
}

interface Known extends StreamEntry {
  readonly name: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TELL_EVERY = 512;

/**
 * Reads everything by range and again by key: every record is intact, indexed and of a known stream; every index entry has its
 * record; revisions are dense; and all bytes of the log are accounted for.
 */
export class Scan {
  private readonly options: ScanOptions;
  private readonly damages = new Damages();
  private readonly streams = new Map<number, Known>();
  /** Damaged records, whose streams only the index knows. */
  private readonly illegible = new Set<number>();
  private readonly total: number;
  private read = 0;
  private events = 0;
  /** Removed parts by position, with their lengths, and unexplained holes: [from, to). */
  private readonly gaps = new Map<number, number>();
  private readonly holes: [from: number, to: number][] = [];
  private lastPosition = 0;
  private end = 1;

  constructor(options: ScanOptions) {
    this.options = options;
    const { sn, ev, sx } = options.files;
    this.total = Math.max(1, entries(sn) + entries(ev) + entries(sx));
  }

  run(): VerifyReport {
    this.header();
    this.names();
    this.removed();
    this.records();
    this.index();
    const { damages, streams } = this;
    return {
      verdict: damages.found ? 'corrupt' : 'ok',
      events: this.events,
      streams: streams.size,
      purgedStreams: [...streams.values()].filter(({ first }) => first > 0).length,
      lastPosition: this.lastPosition,
      damages: damages.list,
      more: damages.more,
    };
  }

  private add(damage: Damage): void {
    this.damages.add(damage);
  }

  private header(): void {
    this.within('meta', () => {
      const { meta } = this.options.files;
      const format = meta.get(Buffer.from('format'))?.toString();
      const instance = meta.get(Buffer.from('instance'))?.toString();
      if (format !== FORMAT) this.add({ what: `The format of the store is ${JSON.stringify(format)}, not ${FORMAT}.` });
      if (!UUID.test(instance ?? '')) this.add({ what: 'The id of the store is damaged.' });
    });
  }

  private names(): void {
    const { sn } = this.options.files;
    this.each('sn', sn, (key, value) => {
      const name = key.toString('utf8');
      const entry = decodeStream(key, value);
      if (entry === undefined) this.add({ what: 'The entry of the stream is damaged.', stream: name });
      else if (this.streams.has(entry.number)) {
        this.add({ what: `The stream has the number of ${this.streams.get(entry.number)!.name}.`, stream: name });
      } else this.streams.set(entry.number, { ...entry, name });
      if (!sn.get(key)?.equals(value)) this.add({ what: 'The stream cannot be found by its name.', stream: name });
    });
  }

  private removed(): void {
    const { gaps } = this.options.files;
    this.each('gaps', gaps, (key, value) => {
      const isSound = key.length === 8 && value.length === 8 && getUint64(value, 0) > 0;
      if (isSound) this.gaps.set(getUint64(key, 0), getUint64(value, 0));
      else this.add({ what: 'An entry of the removed parts is damaged.' });
    });
  }

  private records(): void {
    const { ev, sx } = this.options.files;
    this.each('ev', ev, (key, value) => {
      const position = getUint64(key, 0);
      this.events++;
      if (position < this.end) this.add({ what: 'The record begins within the one before it.', position });
      this.skipTo(position);
      this.end = position + value.length;
      this.lastPosition = position;
      if (!ev.get(key)?.equals(value)) this.add({ what: 'The record cannot be found by its position.', position });
      if (!this.isRecord(value, position)) {
        this.illegible.add(position);
        return;
      }
      const revision = revisionOf(value);
      const name = nameOf(value);
      const place = { position, stream: name, revision };
      const known = this.streams.get(streamNoOf(value));
      if (known?.name !== name) this.add({ what: 'The stream of the record is not listed.', ...place });
      const index = sx.get(revisionKey(streamNoOf(value), revision));
      if (index === undefined || getUint64(index, 0) !== position) {
        this.add({ what: 'The index does not lead to the record.', ...place });
      }
    });
    this.within('meta', () => {
      const end = committedEnd(this.options.files);
      if (end === undefined) return;
      if (end < this.end) this.add({ what: `The last commit ended at position ${end}, before the end of the log.` });
      this.skipTo(end);
    });
  }

  /** Notes a hole unless everything up to this position was removed. */
  private skipTo(position: number): void {
    let at = this.end;
    for (let length = this.gaps.get(at); at < position && length !== undefined; length = this.gaps.get(at))
      at += length;
    if (at < position) this.holes.push([at, position]);
  }

  private isRecord(value: Buffer, position: number): boolean {
    try {
      if (!this.options.skipChecksums) verifyRecord(value, value.length, position);
      return true;
    } catch {
      return false;
    }
  }

  private index(): void {
    const { sx, ev } = this.options.files;
    const seen = new Set<number>();
    let number = 0;
    let next = 0;
    this.each('sx', sx, (key, value) => {
      if (key.length !== 12 || value.length !== 8) {
        this.add({ what: 'An entry of the index is damaged.' });
        return;
      }
      const revision = getUint64(key, 4);
      const position = getUint64(value, 0);
      const stream = this.streams.get(key.readUInt32BE(0));
      if (key.readUInt32BE(0) !== number) {
        number = key.readUInt32BE(0);
        next = stream?.first ?? 0;
        seen.add(number);
        // The last index entry of a purged head stays without its record.
        if (stream !== undefined && revision === stream.first - 1) {
          if (ev.get(positionKey(position)) !== undefined) {
            this.add({ what: 'The event was purged and is there.', position, stream: stream.name, revision });
          }
          return;
        }
      }
      const name = stream?.name ?? `number ${number}`;
      const place = { position, stream: name, revision };
      if (stream === undefined) this.add({ what: 'The index names a stream that is not listed.', ...place });
      if (revision === TOMBSTONE_REVISION) {
        if (stream?.tombstoned === false)
          this.add({ what: 'The stream has a tombstone and is listed alive.', ...place });
      } else {
        if (revision !== next) this.add({ what: missing(next, revision), stream: name, revision: next });
        next = revision + 1;
      }
      if (this.illegible.delete(position)) this.add({ what: 'The record is damaged.', ...place });
      else this.checkTarget(place, number);
    });
    for (const position of this.illegible) this.add({ what: 'The record is damaged.', position });
    for (const [from, to] of this.holes) {
      this.add({ what: `${to - from} bytes of the log are missing.`, position: from });
    }
    for (const [known, { name }] of this.streams) {
      if (!seen.has(known)) this.add({ what: 'The index has nothing of the stream.', stream: name });
    }
  }

  private checkTarget(place: Required<Omit<Damage, 'what'>>, number: number): void {
    const { ev, sx } = this.options.files;
    const record = ev.get(positionKey(place.position));
    if (record === undefined) this.add({ what: 'The record is missing.', ...place });
    else if (streamNoOf(record) !== number || revisionOf(record) !== place.revision) {
      this.add({ what: 'The index leads to the record of another event.', ...place });
    }
    if (sx.get(revisionKey(number, place.revision)) === undefined) {
      this.add({ what: 'The entry of the index cannot be found.', ...place });
    }
  }

  /** Reads a whole table, and checks its order and its number of entries. */
  private each(name: string, table: Table | undefined, visit: (key: Buffer, value: Buffer) => void): void {
    this.within(name, () => {
      if (table === undefined) return;
      const expected = entries(table);
      let before: Buffer | undefined;
      let count = 0;
      for (const { key, value } of table.getRange({})) {
        if (count % TELL_EVERY === 0) this.options.tell(`${name} ${key.toString('hex')}`, this.read / this.total);
        if (before !== undefined && Buffer.compare(before, key) >= 0) {
          this.add({ what: `The keys of table ${name} are not in order.` });
        }
        // A cycle of pages has no end.
        if (count > expected) break;
        before = Buffer.from(key);
        count++;
        this.read++;
        visit(before, value);
      }
      if (count !== expected) this.add({ what: `Table ${name} has ${count} entries instead of ${expected}.` });
    });
  }

  private within(name: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.add({
        what: `Table ${name} cannot be read any further: ${error instanceof Error ? error.message : error}.`,
      });
    }
  }
}

const entries = (table: Table | undefined): number =>
  table === undefined ? 0 : (table.getStats() as { entryCount: number }).entryCount;

const missing = (from: number, to: number): string =>
  to === from + 1 ? 'The event is missing.' : `${to - from} events are missing, this and those behind it.`;
