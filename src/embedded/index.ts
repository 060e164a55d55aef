import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { removeDrafts } from './drafts.ts';
import type { Tls } from './grpc/server.ts';
import { defaultLimits } from './limits.ts';
import { takeLock } from './lock/lock.ts';
import { socketPath } from './lock/socket-path.ts';
import { damageOfPages } from './maintenance/pages.ts';
import { runInWorker } from './run-in-worker.ts';
import { type RunningStore, runStore, type StoreOptions } from './run-store.ts';
import type { Advertised } from './services/server-info.ts';
import type { User } from './services/single-user.ts';
import { checkMeta } from './store/check/check-file.ts';
import { probe } from './store/check/probe.ts';
import { isShort, type Shortage } from './store/commit/free-space.ts';
import { breakSeal, checkSeal, seal } from './store/commit/seal.ts';
import { DATA_FILE } from './store/database.ts';

export { runningEndpoint, StoreLocked } from './lock/lock.ts';
export { CORRUPT_SIGNALS } from './run-child.ts';
export { StoreCorrupt } from './store/records/corrupt.ts';

export interface EmbeddedOptions {
  readonly dir: string;
  /** TCP on 127.0.0.1; default: a unix socket of mode 0600. */
  readonly port?: number;
  /** Default: plain text. */
  readonly tls?: Tls;
  /** The only user. Needs `tls`, because clients send no credentials without it. */
  readonly user?: User;
  /** The host and port that gossip gives to clients; default: those of the request. */
  readonly advertise?: Advertised;
  /** Hides the endpoint from `runningEndpoint`, because the store ends with this process. */
  readonly unannounced?: boolean;
  /** Runs on the calling thread (tests). */
  readonly inThread?: boolean;
}

export interface Embedded {
  /** `unix:/abs/path` or `127.0.0.1:port`. */
  readonly endpoint: string;
  /** Set when the volume was too full at the start: nothing is written until there is room. */
  readonly shortage: Shortage | undefined;
  readonly hasNoRoom: boolean;
  /** Resolves with the reason when the store stops by itself. */
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

/**
 * Starts the event store in `dir`, and creates it if needed.
 * @throws StoreLocked while another process uses it; StoreCorrupt; Error for an unusable directory
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const dir = resolve(options.dir);
  prepare(dir);
  const lock = await takeLock(dir);
  let cleanUp = () => {};
  const release = () => {
    cleanUp();
    lock.release();
  };
  try {
    removeDrafts(dir);
    const file = join(dir, DATA_FILE);
    const { short, transaction } = checkMeta(file);
    const untouched = checkSeal(dir, transaction) && !lock.unclean && !short;
    if ((lock.unclean || short) && existsSync(file)) await probe(file, short);
    await breakSeal(dir);
    const settings: StoreOptions = {
      dir,
      listen: listenAt(options, dir, (undo) => {
        cleanUp = undo;
      }),
      tls: options.tls,
      user: options.user,
      advertise: options.advertise,
      untouched,
    };
    const store = await (options.inThread ? runStore(settings) : runInWorker(settings));
    if (!options.unannounced) lock.announce(store.endpoint);
    let hasFailed = false;
    const looking = new AbortController();
    const lost = lock.lost.then(async (error) => {
      await store.abandon();
      return error;
    });
    const failed = Promise.race([store.failed, lost, untouched ? damaged(dir, store, looking.signal) : never]).then(
      (reason) => {
        hasFailed = true;
        looking.abort();
        release();
        return reason;
      },
    );
    let closed: Promise<void> | undefined;
    return {
      endpoint: store.endpoint,
      shortage: store.shortage,
      get hasNoRoom() {
        return isShort(dir, defaultLimits.freeSpaceBytes);
      },
      failed,
      close: () => {
        looking.abort();
        closed ??= store
          .close()
          .then(() => (hasFailed ? undefined : seal(dir)))
          .finally(release);
        return closed;
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

export { hasStore, whyNoStore } from './has-store.ts';

async function damaged(dir: string, store: RunningStore, calledOff: AbortSignal): Promise<Error> {
  const damage = await damageOfPages(dir, calledOff);
  if (damage === undefined || calledOff.aborted) return never;
  await store.close();
  return damage;
}

const never = new Promise<never>(() => {});

function listenAt(options: EmbeddedOptions, dir: string, undo: (cleanUp: () => void) => void): StoreOptions['listen'] {
  if (options.port !== undefined) return { port: options.port };
  const socket = socketPath(dir);
  undo(socket.cleanUp);
  return { socket: socket.path };
}

function prepare(dir: string): void {
  try {
    makeDirectory(dir);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `The event store cannot use ${dir}: ${reasons[(cause as NodeJS.ErrnoException).code ?? ''] ?? String(cause)}`,
      {
        cause,
      },
    );
  }
}

/** One level at a time, because Node's recursive form never returns on file systems such as /proc. */
function makeDirectory(dir: string): void {
  if (existsSync(dir)) return;
  makeDirectory(dirname(dir));
  mkdirSync(dir, { mode: 0o700 });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it cannot be created.',
  EACCES: 'no permission to write there.',
  EPERM: 'no permission to write there.',
  EROFS: 'the file system is read-only.',
  ENOTDIR: 'a part of the path is not a directory.',
  EEXIST: 'it is not a directory.',
  ENOSPC: 'the volume is full.',
};
