import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Millis } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import {
  type Embedded,
  hasStore,
  runningEndpoint,
  StoreLocked,
  startEmbedded,
  whyNoStore,
} from '../../embedded/index.ts';
import { type ConnectOptions, usersAreKnown } from '../../eventstoredb/client/connect-options.ts';
import type { Target } from '../../eventstoredb/client/target.ts';
import { connect } from '../../eventstoredb/connect.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { publish } from '../../telemetry.ts';
import { refuseLaterLog } from './log-version.ts';
import { expectNoOtherLog } from './new-log.ts';

export interface EventLog {
  readonly store: EventStore;
  /** Resolves with the reason when an embedded store stops; never for a cluster, which reconnects. */
  readonly failed: Promise<Error>;
  /** Whether the volume of an embedded store is too full for commands. A cluster's volume is not known here. */
  readonly hasNoRoom: boolean;
  /** Whether this process has the store's files open, so that no other can write them. */
  readonly isOwn: boolean;
  close(): Promise<void>;
}

const never = new Promise<never>(() => {});

export const storeDir = (config: Config): string => join(config.DATA_DIR, 'eventstore');

/** Longest wait for another process that has the store: until it listens or closes. */
const holderMs: Millis = 5_000;
const lookAgainMs: Millis = 20;

/**
 * The cluster of EVENTSTORE_URL, or an embedded store.
 * @param options.isNew makes a store even if files of another log are here
 * @param options.waitMs for another process that has the store, such as a server that closes
 * @throws StoreLocked; BadConfig if the store's files are missing
 */
export const ownEventLog = async (
  config: Config,
  { isNew = false, waitMs = holderMs }: { readonly isNew?: boolean; readonly waitMs?: Millis } = {},
): Promise<EventLog> => {
  if (config.EVENTSTORE_URL !== undefined) return elsewhere({ url: config.EVENTSTORE_URL });
  const dir = storeDir(config);
  if (!isNew) expectNoOtherLog(config, dir);
  let hasSaid = false;
  for (const end = performance.now() + waitMs; ; await wait(lookAgainMs)) {
    try {
      return ofServer(dir, await startEmbedded({ dir }));
    } catch (error) {
      if (!(error instanceof StoreLocked) || performance.now() > end) throw error;
      if (!hasSaid) publish('store.in_use', { dir, holder: error.holder });
      hasSaid = true;
    }
  }
};

const ofServer = (dir: string, embedded: Embedded): EventLog => {
  if (embedded.shortage) publish('store.read_only', { dir, ...embedded.shortage });
  const store = connect({ endpoint: embedded.endpoint });
  return {
    store,
    failed: embedded.failed,
    isOwn: true,
    get hasNoRoom() {
      return embedded.hasNoRoom;
    },
    async close() {
      await store.close();
      await embedded.close();
    },
  };
};

export const mayHaveEvents = (config: Config): boolean =>
  config.EVENTSTORE_URL !== undefined || hasStore(storeDir(config));

/** Whether a command will open the store's files itself, because no server has them open. */
export const opensFiles = async (config: Config): Promise<boolean> => {
  const dir = storeDir(config);
  return config.EVENTSTORE_URL === undefined && hasStore(dir) && (await runningEndpoint(dir)) === null;
};

/**
 * The events for a command: of the running server, or of the files of a stopped one.
 * @param isNew as of `ownEventLog`
 * @throws Failure if a later release has written them
 */
export const anyEventLog = async (config: Config, isNew = false): Promise<EventLog> =>
  checked(await whicheverLog(config, isNew), (store) => refuseLaterLog(store));

const checked = async (log: EventLog, check: (store: EventStore) => Promise<void>): Promise<EventLog> => {
  try {
    await check(log.store);
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
};

const whicheverLog = async (config: Config, isNew: boolean): Promise<EventLog> => {
  if (config.EVENTSTORE_URL !== undefined) return elsewhere({ url: config.EVENTSTORE_URL }, usersAreKnown);
  const dir = storeDir(config);
  if (!isNew) expectNoOtherLog(config, dir);
  const found = await runningOrOwn(dir);
  return typeof found === 'string' ? elsewhere({ endpoint: found }) : ofServer(dir, found);
};

const commandMs: Millis = 30_000;

/** A command that has the store serves no other, because it ends soon. @throws Failure if the wait is too long */
const runningOrOwn = async (dir: string): Promise<string | Embedded> => {
  for (const end = performance.now() + commandMs; ; await wait(lookAgainMs)) {
    const endpoint = await runningEndpoint(dir);
    if (endpoint !== null) return endpoint;
    try {
      return await startEmbedded({ dir, unannounced: true });
    } catch (error) {
      if (!(error instanceof StoreLocked)) throw error;
      if (performance.now() < end) continue;
      const advice = 'Run this again when that has ended. Beside a server any number of commands work at once.';
      throw new Failure(`${error.message} ${advice}`, 1, error);
    }
  }
};

/** For a command that makes no store if there is none. @throws Failure that says where it looked */
export const existingEventLog = async (config: Config): Promise<EventLog> => {
  const dir = storeDir(config);
  if (!mayHaveEvents(config)) {
    throw new Failure(`${whyNoStore(dir)}. DATA_DIR or EVENTSTORE_URL says where it is.`);
  }
  return checked(await anyEventLog(config), async (store) => {
    for await (const _ of store.readAll({ from: 'start', direction: 'forwards', limit: 1 })) return;
    const place = config.EVENTSTORE_URL === undefined ? `in ${dir}` : 'of EVENTSTORE_URL';
    throw new Failure(`The event store ${place} holds nothing of Weir yet.`);
  });
};

const elsewhere = (target: Target, options?: ConnectOptions): EventLog => {
  const store = connect(target, options);
  return { store, failed: never, hasNoRoom: false, isOwn: false, close: () => store.close() };
};

/** Where a command finds a store: a cluster, a running server, or a stopped one's files, served meanwhile. */
export interface StoreLocation {
  readonly target: Target;
  /** An embedded store keeps the order of what is sent on one connection. */
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

const nothingToClose = async (): Promise<void> => {};

/** @param dir a folder that takes precedence over EVENTSTORE_URL and DATA_DIR */
export const findStore = async (config: Config, dir: string | undefined): Promise<StoreLocation> => {
  if (dir === undefined && config.EVENTSTORE_URL !== undefined) {
    return { target: { url: config.EVENTSTORE_URL }, isEmbedded: false, close: nothingToClose };
  }
  const folder = dir ?? storeDir(config);
  const found = await runningOrOwn(folder);
  if (typeof found === 'string') return { target: { endpoint: found }, isEmbedded: true, close: nothingToClose };
  return { target: { endpoint: found.endpoint }, isEmbedded: true, close: found.close };
};
