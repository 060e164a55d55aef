import { join } from 'node:path';
import { atSharedStore } from '../support/shared-store.ts';
import { type RemoteStore, startRemoteStore } from '../support/tls-store.ts';
import type { Environment } from './process.ts';

/** A store that is there already and that all the servers of the tests share. */
const shared = process.env.EVENTSTORE_URL;
export const isShared = shared !== undefined;

/**
 * With EVENTSTORE_URL the events of every server that the tests start are in that store, and the commands find them there.
 * With WEIR_EVENTSTORE=tls they are in stores over TLS, one for each data folder.
 */
export const isRemote = isShared || process.env.WEIR_EVENTSTORE === 'tls';

/** Why a test of the files of the embedded store is skipped with `isRemote`. */
export const noEmbedded = 'the events are not in DATA_DIR';
/** Why a test is skipped with `isShared`. */
export const notOurs = 'the store that EVENTSTORE_URL names is not ours to stop';

interface Store {
  readonly env: Environment;
  /** Where it is one that was started here. */
  readonly ours?: RemoteStore;
}

const stores = new Map<string, Promise<Store>>();

const newStore = async (): Promise<Store> => {
  if (shared !== undefined) return { env: atSharedStore(shared) };
  const ours = await startRemoteStore();
  return { env: { EVENTSTORE_URL: ours.url }, ours };
};

/** Sees to it that a data folder has its store. */
export const makeStore = async (dataDir: string): Promise<void> => {
  if (!isRemote) return;
  const store = stores.get(dataDir) ?? newStore();
  stores.set(dataDir, store);
  await store;
};

/** An environment with the store of its data folder, where there is one and no other is named. */
export const atItsStore = async (env: Environment): Promise<Environment> => {
  const store = env.EVENTSTORE_URL === undefined ? await stores.get(env.DATA_DIR ?? '') : undefined;
  return { ...store?.env, ...env };
};

/** The folder with the events of a data folder, unless they are in a store that is not ours. */
export const eventsOf = async (dataDir: string): Promise<string> =>
  (await stores.get(dataDir))?.ours?.dir ?? join(dataDir, 'eventstore');

/** Does something to that folder while nobody has it, where the gateway has been stopped. */
export const atRest = async (dataDir: string, work: (dir: string) => void): Promise<void> => {
  const store = await stores.get(dataDir);
  await store?.ours?.kill();
  work(await eventsOf(dataDir));
  await store?.ours?.startAgain();
};
