import { join } from 'node:path';
import type { Config } from '../config.ts';
import { runningEndpoint, startEmbedded } from '../embedded/index.ts';
import { connect } from '../kernel/eventstoredb.ts';
import type { EventStore } from '../kernel/store.ts';

export interface EventLog {
  readonly store: EventStore;
  /** Resolves with the reason when an embedded store stops by itself; never for a cluster, which comes back. */
  readonly failed: Promise<Error>;
  close(): Promise<void>;
}

const never = new Promise<never>(() => {});

/** Where the files of the embedded store are. */
export const storeDir = (config: Config): string => join(config.DATA_DIR, 'eventstore');

/** The events for a server: the cluster that EVENTSTORE_URL names, or an embedded store of its own. */
export const ownEventLog = async (config: Config): Promise<EventLog> => {
  if (config.EVENTSTORE_URL !== undefined) return cluster(config.EVENTSTORE_URL);
  const embedded = await startEmbedded({ dir: storeDir(config) });
  const store = connect({ endpoint: embedded.endpoint });
  return {
    store,
    failed: embedded.failed,
    async close() {
      await store.close();
      await embedded.close();
    },
  };
};

/** The events for a command: those of the running server, or of the stopped one's files. */
export const anyEventLog = async (config: Config): Promise<EventLog> => {
  const endpoint = config.EVENTSTORE_URL === undefined ? runningEndpoint(storeDir(config)) : null;
  if (endpoint === null) return ownEventLog(config);
  const store = connect({ endpoint });
  return { store, failed: never, close: () => store.close() };
};

const cluster = (url: string): EventLog => {
  const store = connect({ url });
  return { store, failed: never, close: () => store.close() };
};
