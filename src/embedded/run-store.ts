import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type GrpcServer, type Handler, type Listen, type ServerOptions, serveGrpc, type Tls } from './grpc/server.ts';
import { type LogOptions, openLog } from './open-log.ts';
import { appendMethod } from './services/append.ts';
import { batchAppendMethod, deniedBatchAppendMethod } from './services/batch-append.ts';
import { deleteMethod } from './services/delete.ts';
import { listMethod } from './services/list.ts';
import type { Log } from './services/log.ts';
import { readMethod } from './services/read.ts';
import { type Advertised, featuresMethod, gossipMethod } from './services/server-info.ts';
import { singleUser, type User } from './services/single-user.ts';
import { checkTrees } from './store/check/check-file.ts';
import type { Shortage } from './store/commit/free-space.ts';
import { DATA_FILE, instanceOf, type LogFiles, openFiles } from './store/database.ts';

export interface StoreOptions extends LogOptions {
  readonly listen: Listen;
  readonly tls?: Tls | undefined;
  /** Default: every caller may do everything. */
  readonly user?: User | undefined;
  /** Given to clients by gossip; default: the name by which they asked. */
  readonly advertise?: Advertised | undefined;
  readonly pings?: ServerOptions['pings'];
  /** Nobody wrote to the file since it was closed, so its pages are checked while it serves (`damageOfPages`). */
  readonly untouched?: boolean;
}

export interface RunningStore {
  readonly endpoint: string;
  readonly shortage: Shortage | undefined;
  readonly failed: Promise<Error>;
  close(): Promise<void>;
  /** Ends at once, without committing what waits. */
  abandon(): Promise<void>;
}

export interface LocalStore extends RunningStore {
  readonly calls: GrpcServer['calls'];
}

const CLOSE_MS = 2000;
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
  const { listen } = options;
  const instance = await instanceOf(files, randomUUID);
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });
  const { log, space, stopSweeping } = openLog(
    options,
    files,
    (error) => void stop(`The event store has failed: ${error.message}`).then(() => fail(error)),
  );
  if ('socket' in listen) rmSync(listen.socket, { force: true });
  const gossip = gossipMethod({ instance, advertise: options.advertise, port: () => server.port, now: log.now });
  const server = await serveGrpc(listen, methodsOf(log, gossip, options.user), {
    maxMessageBytes: log.limits.messageBytes,
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
      stopSweeping();
      for (const call of server.calls) call.pause();
      await log.writer.commit.end();
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
