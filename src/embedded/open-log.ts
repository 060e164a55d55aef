import { randomBytes } from 'node:crypto';
import type { Faults } from './faults.ts';
import type { Call } from './grpc/call.ts';
import { unavailable } from './grpc/refusals.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Log } from './services/log.ts';
import { type FreeBytes, type FreeSpace, watchFreeSpace } from './store/commit/free-space.ts';
import type { GroupCommit } from './store/commit/group-commit.ts';
import { Sweeper } from './store/commit/sweeper.ts';
import { Writer } from './store/commit/writer.ts';
import { committedEnd, type LogFiles, lastKey, lastPosition } from './store/database.ts';
import { Streams } from './store/index/streams.ts';
import { Reader } from './store/read/reader.ts';
import { StoreCorrupt } from './store/records/corrupt.ts';
import { createdOf } from './store/records/record.ts';
import { Hub } from './subscriptions/hub.ts';

export interface LogOptions {
  readonly dir: string;
  readonly limits?: Partial<Limits>;
  readonly faults?: Faults;
  /** Pause between removals of what `$maxAge` hides; default ten minutes. */
  readonly sweepEveryMs?: number;
  /** Wall clock, milliseconds. For tests, as are the rest. */
  readonly now?: () => number;
  readonly freeBytes?: FreeBytes;
  readonly lookAtSpaceEveryMs?: number;
  readonly stuckAfterMs?: number;
}

export interface OpenLog {
  readonly log: Log;
  readonly space: FreeSpace;
  readonly stopSweeping: () => void;
}

/** With more bytes waiting for the disk, calls that append are not read further. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
const SWEEP_EVERY_MS = 600_000;

/** Opens the log in these files. @param onFailure called once, when a commit has failed */
export function openLog(options: LogOptions, files: LogFiles, onFailure: (error: Error) => void): OpenLog {
  const { faults = {}, now = Date.now } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const reader = new Reader(files, faults, 1);
  const lastCreated = findEnd(files, reader);
  const lastStream = lastKey(files.sx, Buffer.alloc(12, 0xff));
  const nextStream = lastStream === undefined ? 1 : lastStream.readUInt32BE(0) + 1;
  const streams = new Streams(files);
  const hub = new Hub();
  const space = watchFreeSpace({
    dir: options.dir,
    threshold: limits.freeSpaceBytes,
    ballast: limits.ballastBytes,
    freeBytes: options.freeBytes,
    everyMs: options.lookAtSpaceEveryMs,
  });
  const admission = new Admission(space, faults);
  const writer = new Writer(
    {
      files,
      streams,
      reader,
      faults,
      now,
      space,
      stuckAfterMs: options.stuckAfterMs,
      mintId: () => randomBytes(16).toString('latin1'),
      onCommit(records) {
        hub.publish(records);
        admission.committed(writer.commit);
      },
      onFailure,
    },
    { tail: reader.head, nextStream, lastCreated },
  );
  const sweeper = new Sweeper({ files, streams, reader, commit: writer.commit, now });
  const stopSweeping = sweepEvery(options.sweepEveryMs ?? SWEEP_EVERY_MS, sweeper, files, space);
  const admit = (call: Call) => admission.admit(call, writer.commit);
  return { log: { streams, reader, writer, hub, limits, faults, now, admit }, space, stopSweeping };
}

/** Refuses writes on a full volume, and pauses calls while too much waits for the disk. */
class Admission {
  private readonly space: Pick<FreeSpace, 'low'>;
  private readonly faults: Faults;
  private readonly paused = new Set<Call>();
  private writes = 0;

  constructor(space: Pick<FreeSpace, 'low'>, faults: Faults) {
    this.space = space;
    this.faults = faults;
  }

  admit(call: Call, commit: GroupCommit): void {
    if (this.space.low) throw unavailable('The volume of the event store is nearly full.');
    if (++this.writes === this.faults.dropConnection) commit.open().replies.push(() => call.cut());
    if (commit.pendingBytes < MAX_PENDING_BYTES) return;
    call.pause();
    this.paused.add(call);
  }

  committed({ pendingBytes }: GroupCommit): void {
    if (pendingBytes > MAX_PENDING_BYTES / 2) return;
    for (const call of this.paused) call.resume();
    this.paused.clear();
  }
}

/** @returns ends it */
function sweepEvery(everyMs: number, sweeper: Sweeper, files: LogFiles, space: { readonly low: boolean }): () => void {
  let sweeping = false;
  const timer = setInterval(() => {
    // Frees the reader slots of killed processes, such as a verification.
    files.root.readerCheck();
    if (sweeping || space.low) return;
    sweeping = true;
    // A sweep that meets damage must not end the store; `verify` reports damage.
    void sweeper
      .sweep()
      .catch(() => {})
      .finally(() => {
        sweeping = false;
      });
  }, everyMs).unref();
  return () => {
    sweeper.stop();
    clearInterval(timer);
  };
}

/** Sets the reader to the end of the log. @returns the creation time of the last event; 0 for an empty log */
function findEnd(files: LogFiles, reader: Reader): number {
  const position = lastPosition(files);
  let lastCreated = 0;
  if (position !== undefined) {
    const record = reader.at(position)!;
    reader.head = position + record.length;
    lastCreated = createdOf(record.bytes);
  }
  checkEnd(files, reader);
  return lastCreated;
}

/** @throws StoreCorrupt where the last commit ended elsewhere: new records would replace lost ones */
function checkEnd(files: LogFiles, reader: Reader): void {
  const end = committedEnd(files);
  if (end === undefined || end === reader.head) return;
  if (end > reader.head && reader.isGap(reader.head, end)) {
    reader.head = end;
    return;
  }
  throw new StoreCorrupt(`The log ends at position ${reader.head} and not at ${end}, where its last commit ended.`);
}
