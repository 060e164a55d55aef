import type { ProposedEvent } from '../../codec/append-request.ts';
import type { Expected } from '../../codec/expected.ts';
import type { UuidKey } from '../../codec/uuid.ts';
import { isSoftDeleted, parseMetadata, SOFT_DELETE, withTruncateBefore } from '../index/metadata.ts';
import { isMetastreamName, type Stream, type Streams } from '../index/streams.ts';
import { TOMBSTONE_REVISION } from '../records/record.ts';
import type { Batch } from './batch.ts';
import { decide, type Lookup } from './decide.ts';
import { type CommitOptions, GroupCommit } from './group-commit.ts';
import { RecentIds } from './recent-ids.ts';

/** The result of an append, delete or tombstone. `revision` is -1 for an empty stream. */
export type Outcome =
  | { readonly is: 'written'; readonly revision: number; readonly position: number }
  | { readonly is: 'wrong-version'; readonly current: number }
  | { readonly is: 'deleted' };

type Reply = (outcome: Outcome) => void;

export interface WriterOptions extends CommitOptions {
  readonly streams: Streams;
  readonly now: () => number;
  /** Returns 16 random bytes. */
  readonly mintId: () => UuidKey;
}

/** The end of the log at the start. */
export interface LogEnd {
  readonly tail: number;
  readonly nextStream: number;
  /** Creation time of the last record: later ones are not older, even if the clock was set back. */
  readonly lastCreated: number;
}

const METADATA_TYPE = Buffer.from('$metadata');
const TOMBSTONE_TYPE = Buffer.from('$streamDeleted');
const NOTHING = Buffer.alloc(0);

/**
 * The only writer of the log. Requests are decided by the newest state, committed or not: a failed commit ends the store, and
 * every reply waits for the commit of its batch.
 */
export class Writer implements Lookup {
  readonly streams: Streams;
  readonly recent = new RecentIds();
  readonly commit: GroupCommit;
  private readonly options: WriterOptions;
  private tail: number;
  private nextStream: number;
  private lastCreated: number;
  private appends = 0;

  constructor(options: WriterOptions, { tail, nextStream, lastCreated }: LogEnd) {
    this.options = options;
    this.commit = new GroupCommit(options);
    this.streams = options.streams;
    this.tail = tail;
    this.nextStream = nextStream;
    this.lastCreated = lastCreated;
  }

  append(name: string, expected: Expected, events: readonly ProposedEvent[], reply: Reply): void {
    const stream = this.streams.get(name);
    const batch = this.commit.open();
    if (++this.appends === this.options.faults.wrongVersion) {
      this.answer(batch, reply, wrong(stream));
      return;
    }
    const base = isMetastreamName(name) ? this.streams.get(name.slice(2)) : undefined;
    if (base?.tombstoned) {
      this.answer(batch, reply, { is: 'deleted' });
      return;
    }
    const verdict = decide(
      stream,
      expected,
      events.map((event) => event.id),
      this,
    );
    if (verdict.is === 'write') {
      const revives = isSoftDeleted(base?.metadata);
      for (const event of events) this.write(batch, stream, event);
      const outcome: Outcome = { is: 'written', revision: stream.last, position: this.lastPosition(batch) };
      if (verdict.undelete && events.length > 0) this.undelete(batch, stream, stream.last - events.length + 1);
      if (base !== undefined && revives && events.length > 0) this.undelete(batch, base, base.last + 1);
      this.answer(batch, reply, outcome);
    } else if (verdict.is === 'again') {
      this.answer(batch, reply, { is: 'written', revision: verdict.revision, position: verdict.position });
    } else this.answer(batch, reply, verdict);
  }

  /** Soft delete: hides all existing events by writing `$tb` as the metadata. */
  delete(name: string, expected: Expected, reply: Reply): void {
    const stream = this.streams.get(name);
    const batch = this.commit.open();
    const neverWas = stream.last < 0 && this.streams.metastreamOf(stream).last < 0;
    const refusal = this.refuseDelete(stream, expected) ?? (neverWas ? wrong(stream) : undefined);
    if (refusal !== undefined) {
      this.answer(batch, reply, refusal);
      return;
    }
    const position = this.writeMetadata(batch, stream, SOFT_DELETE);
    this.answer(batch, reply, { is: 'written', revision: stream.last, position });
  }

  /** Hard delete, also of a stream that never existed. */
  tombstone(name: string, expected: Expected, reply: Reply): void {
    const stream = this.streams.get(name);
    const batch = this.commit.open();
    const refusal = this.refuseDelete(stream, expected);
    if (refusal !== undefined) {
      this.answer(batch, reply, refusal);
      return;
    }
    this.number(batch, stream);
    const position = this.record(batch, stream, TOMBSTONE_REVISION, {
      id: this.options.mintId(),
      type: TOMBSTONE_TYPE,
      json: false,
      metadata: NOTHING,
      data: NOTHING,
    });
    stream.tombstoned = true;
    batch.change(stream);
    this.answer(batch, reply, { is: 'written', revision: stream.last, position });
  }

  idAt(stream: Stream, revision: number): { id: UuidKey; position: number } | undefined {
    if (this.options.faults.forgetIds) return undefined;
    if (revision > stream.committedLast) return stream.uncommitted[revision - stream.committedLast - 1];
    return this.options.reader.idAt(stream, revision);
  }

  private refuseDelete(stream: Stream, expected: Expected): Outcome | undefined {
    const verdict = decide(stream, expected, [this.options.mintId()], this);
    if (verdict.is === 'deleted') return verdict;
    return verdict.is === 'write' ? undefined : wrong(stream);
  }

  private answer(batch: Batch, reply: Reply, outcome: Outcome): void {
    if (this.options.faults.answerBeforeCommit) reply(outcome);
    else batch.replies.push(() => reply(outcome));
  }

  private lastPosition(batch: Batch): number {
    return batch.records.at(-1)?.position ?? this.tail;
  }

  private number(batch: Batch, stream: Stream): void {
    if (stream.number !== 0) return;
    stream.number = this.nextStream++;
    batch.change(stream);
  }

  private write(batch: Batch, stream: Stream, event: Omit<ProposedEvent, 'missing'>): number {
    this.number(batch, stream);
    const revision = stream.last + 1;
    const position = this.record(batch, stream, revision, event);
    stream.last = revision;
    stream.uncommitted.push({ id: event.id, position });
    if (!this.options.faults.forgetIds) this.recent.add(event.id, stream.name, revision, position);
    if (isMetastreamName(stream.name)) {
      const base = this.streams.get(stream.name.slice(2));
      base.metadata = parseMetadata(Buffer.from(event.data), revision);
      batch.metadata.set(base, base.metadata);
      batch.touch(base);
    }
    return position;
  }

  private record(batch: Batch, stream: Stream, revision: number, event: Omit<ProposedEvent, 'missing'>): number {
    const position = this.tail;
    // A later event is never older than an earlier one.
    const now = Math.floor(this.options.now());
    this.lastCreated = this.options.faults.trustClock ? now : Math.max(this.lastCreated, now);
    const before = batch.bytes;
    batch.add(stream, {
      position,
      streamNo: stream.number,
      name: stream.nameBytes,
      revision,
      id: event.id,
      type: event.type,
      json: event.json,
      metadata: event.metadata,
      data: event.data,
      created: this.lastCreated,
    });
    const size = batch.bytes - before;
    this.tail = position + size;
    const gap = Math.floor(Math.random() * (this.options.faults.positionGaps ?? 0));
    if (gap > 0) {
      batch.gap(this.tail, gap);
      this.tail += gap;
    }
    this.commit.pendingBytes += size;
    batch.end = this.tail;
    return position;
  }

  private writeMetadata(batch: Batch, stream: Stream, data: Buffer): number {
    const metastream = this.streams.metastreamOf(stream);
    return this.write(batch, metastream, {
      id: this.options.mintId(),
      type: METADATA_TYPE,
      json: true,
      metadata: NOTHING,
      data,
    });
  }

  private undelete(batch: Batch, stream: Stream, firstRevision: number): void {
    const data = withTruncateBefore(stream.metadata?.raw ?? NOTHING, firstRevision);
    if (data !== undefined) this.writeMetadata(batch, stream, data);
  }
}

function wrong(stream: Stream): Outcome {
  return { is: 'wrong-version', current: stream.last };
}
