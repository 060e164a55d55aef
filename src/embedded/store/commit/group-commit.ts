import type { Faults } from '../../faults.ts';
import type { LogFiles } from '../database.ts';
import type { Reader } from '../read/reader.ts';
import { TOMBSTONE_REVISION } from '../records/record.ts';
import { Batch, type Written } from './batch.ts';
import type { FreeSpace } from './free-space.ts';

export interface CommitOptions {
  readonly files: LogFiles;
  readonly reader: Reader;
  readonly faults: Faults;
  /** Called after each commit, in order, when its replies have been given. */
  readonly onCommit: (records: readonly Written[]) => void;
  /** Called once, when a commit has failed: nothing may be acknowledged any more. */
  readonly onFailure: (error: Error) => void;
  readonly space: Pick<FreeSpace, 'lacks' | 'held'>;
  /** Time after which a commit has failed; default 30 s. */
  readonly stuckAfterMs?: number | undefined;
}

const ENOSPC = 28;
const EIO = 5;
/** Bytes that a commit writes beside its records: pages of the trees. */
const LEAST_ROOM = 256 * 1024;
const ROOM_PER_RECORD = 8 * 1024;
const STUCK_MS = 30_000;
const TICKS = 30;

const MAX_REQUESTS = 4096;
const MAX_BYTES = 8 * 1024 * 1024;

const NO_ROOM = new Error('There is no room.');

/** Group commit: while one batch is written the next one forms. */
export class GroupCommit {
  private readonly options: CommitOptions;
  private readonly waiting: Batch[] = [];
  private forming: Batch | undefined;
  private committing = false;
  private scheduled = false;
  private failed = false;
  private commits = 0;
  private ending = false;
  private hold = () => {};
  private idle: (() => void)[] = [];
  /** Accepted and not yet committed. */
  pendingBytes = 0;

  constructor(options: CommitOptions) {
    this.options = options;
  }

  /** The batch for the next request. Its commit begins in this turn of the event loop, or after the current one. */
  open(): Batch {
    const forming = this.forming;
    if (forming !== undefined) {
      if (forming.replies.length < MAX_REQUESTS && forming.bytes < MAX_BYTES) return forming;
      this.waiting.push(forming);
    }
    this.forming = new Batch();
    this.schedule();
    return this.forming;
  }

  /** Resolves when everything is committed and answered, or the store has failed. What waits for room stays unanswered. */
  end(): Promise<void> {
    this.ending = true;
    this.hold();
    if (this.forming === undefined && this.waiting.length === 0 && !this.committing) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  private schedule(): void {
    if (this.scheduled || this.committing || this.failed) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      void this.commitAll();
    });
  }

  private async commitAll(): Promise<void> {
    if (this.committing) return;
    this.committing = true;
    for (let batch = this.next(); batch !== undefined && !this.failed; batch = this.next()) {
      try {
        await this.commit(batch);
      } catch (error) {
        if (error === NO_ROOM) this.failed = true;
        else if (this.options.faults.ignoreCommitErrors) this.publish(batch);
        else {
          this.failed = true;
          this.options.onFailure(error instanceof Error ? error : new Error(String(error)));
        }
      }
    }
    this.committing = false;
    const idle = this.idle;
    this.idle = [];
    for (const resolve of idle) resolve();
  }

  private next(): Batch | undefined {
    const batch = this.waiting.shift() ?? this.forming;
    if (batch === this.forming) this.forming = undefined;
    return batch;
  }

  private async commit(batch: Batch): Promise<void> {
    const { faults } = this.options;
    if (faults.commitDelayMs) await new Promise((resolve) => setTimeout(resolve, faults.commitDelayMs));
    if (!batch.empty) {
      if (++this.commits === faults.failCommit) throw new Error('commit failed on request');
      while (!(await this.written(batch)));
    }
    this.publish(batch);
  }

  /**
   * False where the volume was full: LMDB has changed nothing, and the batch can be written again. Checking first matters: on a
   * failed write lmdb-js 3.5.6 writes its message beyond the end of a buffer, which may kill the process.
   * @throws NO_ROOM when the store stops before there is room
   */
  private async written(batch: Batch): Promise<boolean> {
    const { files, faults, space } = this.options;
    const needed = LEAST_ROOM + batch.bytes + ROOM_PER_RECORD * batch.records.length;
    while (space.lacks(needed) && !faults.ignoreCommitErrors) {
      if (this.ending) throw NO_ROOM;
      const ended = new Promise<void>((resolve) => {
        this.hold = resolve;
      });
      await Promise.race([space.held(), ended]);
    }
    try {
      await this.unlessStuck(files.root.batch(() => batch.put(files)).catch(explain));
      return true;
    } catch (error) {
      const { code } = error as { code?: unknown };
      // LMDB reports a write cut short on a full volume as an I/O error.
      if (faults.ignoreCommitErrors) throw error;
      if (code === ENOSPC || (code === EIO && space.lacks(needed))) return false;
      throw error;
    }
  }

  /** After a commit that broke its file LMDB settles nothing. Ticks do not count the time of a stopped process. */
  private async unlessStuck(writing: Promise<unknown>): Promise<void> {
    const { stuckAfterMs = STUCK_MS } = this.options;
    let timer: NodeJS.Timeout | undefined;
    const stuck = new Promise<never>((_, reject) => {
      let ticks = 0;
      timer = setInterval(() => {
        if (++ticks === TICKS) reject(new Error(`A commit has not come back for ${stuckAfterMs / 1000} s.`));
      }, stuckAfterMs / TICKS);
    });
    await Promise.race([writing, stuck]).finally(() => clearInterval(timer));
  }

  private publish(batch: Batch): void {
    for (const { stream, revision } of batch.records) {
      if (revision === TOMBSTONE_REVISION) stream.committedTombstone = true;
      else stream.committedLast = revision;
    }
    for (const stream of batch.touched) {
      stream.pins--;
      stream.uncommitted.splice(0, stream.uncommitted.length - (stream.last - stream.committedLast));
    }
    for (const [stream, metadata] of batch.metadata) stream.committedMetadata = metadata;
    this.pendingBytes -= batch.bytes;
    if (batch.records.length > 0) this.options.reader.head = batch.end;
    for (const reply of batch.replies) reply();
    if (batch.records.length > 0) this.options.onCommit(batch.records);
  }
}

/** lmdb-js puts the reason into a second promise, which would be an unhandled rejection. */
async function explain(error: Error & { commitError?: Promise<never> }): Promise<never> {
  await error.commitError;
  throw error;
}
