import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Faults } from './faults.ts';
import type { Call } from './grpc/call.ts';
import { unavailable } from './grpc/refusals.ts';
import { type GrpcServer, type Handler, type Listen, type ServerOptions, serveGrpc, type Tls } from './grpc/server.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { appendMethod } from './services/append.ts';
import { batchAppendMethod, deniedBatchAppendMethod } from './services/batch-append.ts';
import { deleteMethod } from './services/delete.ts';
import { listMethod } from './services/list.ts';
import type { Log } from './services/log.ts';
import { readMethod } from './services/read.ts';
import { type Advertised, featuresMethod, gossipMethod } from './services/server-info.ts';
import { singleUser, type User } from './services/single-user.ts';
import { checkTrees } from './store/check/check-file.ts';
import { type FreeBytes, type Shortage, watchFreeSpace } from './store/commit/free-space.ts';
import { Sweeper } from './store/commit/sweeper.ts';
import { Writer } from './store/commit/writer.ts';
import { committedEnd, DATA_FILE, instanceOf, type LogFiles, lastKey, openFiles } from './store/database.ts';
import { Streams } from './store/index/streams.ts';
import { Reader } from './store/read/reader.ts';
import { StoreCorrupt } from './store/records/corrupt.ts';
import { getUint64, positionKey } from './store/records/keys.ts';
import { createdOf } from './store/records/record.ts';
import { Hub } from './subscriptions/hub.ts';

export interface StoreOptions {
  readonly dir: string;
  readonly listen: Listen;
  readonly tls?: Tls | undefined;
  /** Default: every caller may do everything. */
  readonly user?: User | undefined;
  /** Given to clients by gossip; default: the name by which they asked. */
  readonly advertise?: Advertised | undefined;
  readonly pings?: ServerOptions['pings'];
  readonly limits?: Partial<Limits>;
  readonly faults?: Faults;
  /** Nobody wrote to the file since it was closed, so its pages are checked while it serves (`damageOfPages`). */
  readonly untouched?: boolean;
  /** Pause between removals of what `$maxAge` hides; default ten minutes. */
  readonly sweepEveryMs?: number;
  /** Wall clock, milliseconds. For tests, as are the rest. */
  readonly now?: () => number;
  readonly freeBytes?: FreeBytes;
  readonly lookAtSpaceEveryMs?: number;
  readonly stuckAfterMs?: number;
}

export interface RunningStore {
  readonly endpoint: string;
  /** Set when the volume was too full at the start. */
  readonly shortage: Shortage | undefined;
  readonly failed: Promise<Error>;
  close(): Promise<void>;
  /** Ends at once, without committing what waits. */
  abandon(): Promise<void>;
}

export interface LocalStore extends RunningStore {
  /** Calls that are not over. */
  readonly calls: GrpcServer['calls'];
}

/** With more bytes waiting for the disk, calls that append are not read further. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024;
const CLOSE_MS = 2000;
const SWEEP_EVERY_MS = 600_000;
const HIGHEST_POSITION = 2 ** 53;
const STREAMS = '/event_store.client.streams.Streams';
const FEATURES = '/event_store.client.server_features.ServerFeatures/GetSupportedMethods';
const GOSSIP = '/event_store.client.gossip.Gossip/Read';
/** Clients call these without credentials. */
const OPEN_TO_ALL = new Set([FEATURES, GOSSIP]);

/** Opens the log in `dir` and serves it on this thread. The caller holds the lock and has checked the files. */
export async function runStore(options: StoreOptions): Promise<LocalStore> {
  if (!options.untouched && !options.faults?.skipChecksums) checkTrees(join(options.dir, DATA_FILE));
  const files = openFiles(options.dir, options.faults?.noSync ?? false);
  try {
    return await serve(options, files);
  } catch (error) {
    await files.root.close();
    throw error;
  }
}

async function serve(options: StoreOptions, files: LogFiles): Promise<LocalStore> {
  const { dir, listen, faults = {}, now = Date.now } = options;
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const instance = await instanceOf(files, randomUUID);
  const reader = new Reader(files, faults, 1);
  const lastCreated = findEnd(files, reader);
  const lastStream = lastKey(files.sx, Buffer.alloc(12, 0xff));
  const streams = new Streams(files);
  const hub = new Hub();
  const space = watchFreeSpace({
    dir,
    threshold: limits.freeSpaceBytes,
    ballast: limits.ballastBytes,
    freeBytes: options.freeBytes,
    everyMs: options.lookAtSpaceEveryMs,
  });
  const paused = new Set<Call>();
  let writes = 0;
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });

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
      onCommit: (records) => {
        hub.publish(records);
        if (paused.size === 0 || writer.commit.pendingBytes > MAX_PENDING_BYTES / 2) return;
        for (const call of paused) call.resume();
        paused.clear();
      },
      onFailure: (error) => void stop(`The event store has failed: ${error.message}`).then(() => fail(error)),
    },
    {
      tail: reader.head,
      nextStream: lastStream === undefined ? 1 : lastStream.readUInt32BE(0) + 1,
      lastCreated,
    },
  );
  const sweeper = new Sweeper({ files, streams, reader, commit: writer.commit, now });
  const stopSweeping = sweepEvery(options.sweepEveryMs ?? SWEEP_EVERY_MS, sweeper, files, space);

  const log: Log = {
    streams,
    reader,
    writer,
    hub,
    limits,
    faults,
    now,
    admit: (call) => {
      if (space.low) throw unavailable('The volume of the event store is nearly full.');
      if (++writes === faults.dropConnection) writer.commit.open().replies.push(() => call.cut());
      if (writer.commit.pendingBytes < MAX_PENDING_BYTES) return;
      call.pause();
      paused.add(call);
    },
  };
  if ('socket' in listen) rmSync(listen.socket, { force: true });
  const gossip = gossipMethod({ instance, advertise: options.advertise, port: () => server.port, now });
  const server = await serveGrpc(listen, methodsOf(log, gossip, options.user), {
    maxMessageBytes: limits.messageBytes,
    tls: options.tls,
    pings: options.pings,
  });

  let stopping: Promise<void> | undefined;
  function stop(reason: string): Promise<void> {
    stopping ??= (async () => {
      const laid = space.stop();
      stopSweeping();
      server.refuse();
      await Promise.all([server.close(reason), laid]);
      // After a failed commit LMDB may never finish closing; its files are as of the last good commit.
      await Promise.race([files.root.close(), wait(CLOSE_MS, undefined, { ref: false })]);
    })();
    return stopping;
  }
  return {
    endpoint: server.endpoint,
    shortage: space.shortage,
    calls: server.calls,
    failed,
    abandon: () => stop('The event store is in use by somebody else.'),
    close: async () => {
      server.refuse();
      sweeper.stop();
      for (const call of server.calls) call.pause();
      await writer.commit.end();
      await stop('The event store is stopping.');
    },
  };
}

function methodsOf(log: Log, gossip: Handler, user: User | undefined): ReadonlyMap<string, Handler> {
  const methods = new Map<string, Handler>([
    [`${STREAMS}/Append`, appendMethod(log)],
    [`${STREAMS}/BatchAppend`, batchAppendMethod(log)],
    [`${STREAMS}/Read`, readMethod(log)],
    [`${STREAMS}/Delete`, deleteMethod(log, 'delete')],
    [`${STREAMS}/Tombstone`, deleteMethod(log, 'tombstone')],
    [FEATURES, featuresMethod()],
    [GOSSIP, gossip],
    // Some tools list first; "there is none" lets them continue, UNIMPLEMENTED would not.
    ['/event_store.client.persistent_subscriptions.PersistentSubscriptions/List', listMethod()],
  ]);
  if (user === undefined) return methods;
  const denied = new Map([[`${STREAMS}/BatchAppend`, deniedBatchAppendMethod(log)]]);
  return singleUser(user, methods, OPEN_TO_ALL, denied);
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
  const lastPosition = lastKey(files.ev, Buffer.from(positionKey(HIGHEST_POSITION)));
  let lastCreated = 0;
  if (lastPosition !== undefined) {
    const position = getUint64(lastPosition, 0);
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
