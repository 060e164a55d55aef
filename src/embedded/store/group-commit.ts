import type { Faults } from '../faults.ts';
import { Batch, type Written } from './batch.ts';
import type { LogFiles } from './database.ts';
import type { Reader } from './reader.ts';
import { TOMBSTONE_REVISION } from './record.ts';

export interface CommitOptions {
  readonly files: LogFiles;
  readonly reader: Reader;
  readonly faults: Faults;
  /** After each commit, in order: the new end of the log is visible, the replies are given. */
  readonly onCommit: (records: readonly Written[]) => void;
  /** Once, when a commit has failed: nothing may be acknowledged any more. */
  readonly onFailure: (error: Error) => void;
}

const MAX_REQUESTS = 4096;
const MAX_BYTES = 8 * 1024 * 1024;

/** Group commit: one batch on its way to the disk, the next one forming meanwhile. */
export class GroupCommit {
  private readonly options: CommitOptions;
  private readonly waiting: Batch[] = [];
  private forming: Batch | undefined;
  private committing = false;
  private scheduled = false;
  private failed = false;
  private commits = 0;
  private idle: (() => void)[] = [];
  /** Bytes accepted and not yet committed. */
  pendingBytes = 0;

  constructor(options: CommitOptions) {
    this.options = options;
  }

  /** The batch that the next request joins. Its commit begins in this turn of the event loop, or after the one under way. */
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

  /** Resolves when everything accepted so far is committed and answered, or the store has failed. */
  drained(): Promise<void> {
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
        if (this.options.faults.ignoreCommitErrors) this.publish(batch);
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
    const { files, faults } = this.options;
    if (faults.commitDelayMs) await new Promise((resolve) => setTimeout(resolve, faults.commitDelayMs));
    if (!batch.empty) {
      if (++this.commits === faults.failCommit) throw new Error('commit failed on request');
      await files.root.batch(() => batch.put(files)).catch(explain);
    }
    this.publish(batch);
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

/** lmdb-js puts the reason into a second promise, which is an unhandled rejection for whoever does not look at it. */
async function explain(error: Error & { commitError?: Promise<never> }): Promise<never> {
  await error.commitError;
  throw error;
}
