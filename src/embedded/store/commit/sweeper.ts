import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LogFiles, lastPosition } from '../database.ts';
import { isMetastreamName, type Stream, type Streams } from '../index/streams.ts';
import { isExpired, type Reader } from '../read/reader.ts';
import { StoreCorrupt } from '../records/corrupt.ts';
import type { GroupCommit } from './group-commit.ts';

export interface SweeperOptions {
  readonly files: LogFiles;
  readonly streams: Streams;
  readonly reader: Reader;
  readonly commit: GroupCommit;
  readonly now: () => number;
}

/** The range of names that begin with `$$`. */
const METASTREAMS = { start: Buffer.from('$$'), end: Buffer.from('$%') };
const NAMES_PER_TURN = 100;
const RECORDS_PER_COMMIT = 1000;

/**
 * Removes what `$maxAge` hides, through the group commit. Two things stay: a stream's newest index entry, which has its last
 * revision, and the newest record of the log, which has its end.
 */
export class Sweeper {
  private readonly options: SweeperOptions;
  private stopped = false;

  constructor(options: SweeperOptions) {
    this.options = options;
  }

  /** Ends a running sweep, too. */
  stop(): void {
    this.stopped = true;
  }

  /** Sweeps all streams with metadata in small steps. @returns the number of removed records */
  async sweep(): Promise<number> {
    let removed = 0;
    let from: Buffer | undefined = METASTREAMS.start;
    while (from !== undefined && !this.stopped) {
      const names: Buffer[] = this.names(from);
      for (const name of names) {
        for (let more = true; more && !this.stopped; ) {
          const count = await this.purge(name.toString('utf8', METASTREAMS.start.length));
          removed += count;
          more = count === RECORDS_PER_COMMIT;
        }
      }
      from = names.length === NAMES_PER_TURN ? Buffer.concat([names.at(-1)!, Buffer.of(0)]) : undefined;
      await nextTurn();
    }
    return removed;
  }

  private names(start: Buffer): Buffer[] {
    const names: Buffer[] = [];
    const range = { start, end: METASTREAMS.end, limit: NAMES_PER_TURN };
    for (const key of this.options.files.sn.getKeys(range)) names.push(Buffer.from(key));
    return names;
  }

  private async purge(name: string): Promise<number> {
    if (this.stopped || isMetastreamName(name)) return 0;
    const { streams, commit } = this.options;
    const stream = streams.get(name);
    // Streams with pending writes wait for the next sweep, because their newest event is uncertain.
    if (stream.pins > 0 || stream.first > stream.committedLast) return 0;
    const expired = this.expired(stream);
    if (expired.length === 0) return 0;
    const { first } = stream;
    const end = first + expired.length;
    const revisions: number[] = [];
    // An earlier sweep may have left the entry before the first one.
    for (let revision = Math.max(0, first - 1); revision < Math.min(end, stream.last); revision++) {
      revisions.push(revision);
    }
    stream.first = end;
    const batch = commit.open();
    batch.purge({ stream, records: expired, revisions });
    await new Promise<void>((resolve) => batch.replies.push(resolve));
    return expired.length;
  }

  /** Expired records at the head of a stream; none if one is damaged, which `verify` reports. */
  private expired(stream: Stream): { position: number; bytes: number }[] {
    const { streams, reader, files } = this.options;
    const found: { position: number; bytes: number }[] = [];
    try {
      const maxAge = streams.committedMetadata(stream)?.maxAge;
      if (maxAge === undefined) return [];
      const newest = lastPosition(files)!;
      const now = this.options.now();
      for (let revision = stream.first; revision <= stream.committedLast; revision++) {
        const record = reader.event(stream, revision);
        if (record === undefined || record.position >= newest || !isExpired(record.bytes, maxAge, now)) break;
        found.push({ position: record.position, bytes: record.length });
        if (found.length === RECORDS_PER_COMMIT) break;
      }
      return found;
    } catch (error) {
      if (error instanceof StoreCorrupt) return [];
      throw error;
    }
  }
}
