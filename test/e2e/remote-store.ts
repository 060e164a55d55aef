import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSigned } from '../embedded/self-signed.ts';
import { atSharedStore } from '../support/shared-store.ts';
import { type Environment, exitOf, freshDir, inTurn, patienceMs, type Spawned, spawnWeir, tail } from './process.ts';

/** `weir eventstore` over TLS with a user and a password, in a process of its own: what a cluster is to a gateway. */
export interface RemoteStore {
  readonly port: number;
  readonly caFile: string;
  /** The connection string. */
  readonly url: string;
  /** As above, with other credentials (`user:password@` or nothing) or another query. */
  urlWith(other: { readonly credentials?: string; readonly query?: string }): string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Again on the same port, with the same files. */
  startAgain(): Promise<void>;
}

/** Every character of it has to survive the connection string and the header. */
const password = 'p@ss:wörd/%?';
const credentials = `svc:${encodeURIComponent(password)}@`;

/** @param options.hosts whom its certificate is for, by default this machine */
export const startRemoteStore = async (options: { readonly hosts?: readonly string[] } = {}): Promise<RemoteStore> => {
  const dir = freshDir('remote');
  mkdirSync(dir);
  const file = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text);
    return path;
  };
  const { cert, key } = selfSigned(options.hosts);
  const caFile = file('ca.crt', cert);
  const secured = ['--tls-cert', caFile, '--tls-key', file('node.key', key)];
  const user = ['--user', 'svc', '--password-file', file('password', `${password}\n`)];
  const start = (port: number) =>
    inTurn(async () => {
      const args = ['eventstore', '--dir', join(dir, 'events'), '--port', String(port), ...secured, ...user];
      const spawned = spawnWeir(args, {});
      return { spawned, port: await listening(spawned) };
    });
  let { spawned, port } = await start(0);
  const urlWith: RemoteStore['urlWith'] = (other) =>
    `esdb://${other.credentials ?? credentials}localhost:${port}?${other.query ?? `tlsCAFile=${caFile}`}`;
  return {
    port,
    caFile,
    url: urlWith({}),
    urlWith,
    async kill() {
      spawned.child.kill('SIGKILL');
      await exitOf(spawned);
    },
    async startAgain() {
      ({ spawned, port } = await start(port));
    },
  };
};

/** The port, once the store has said that it listens. */
const listening = (spawned: Spawned): Promise<number> =>
  new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`The event store does not listen. It wrote:\n${tail(spawned.stderr())}`));
    const timer = setTimeout(() => {
      spawned.child.kill('SIGKILL');
      fail();
    }, patienceMs);
    spawned.child.stdout!.on('data', () => {
      const port = /listens on \S+:(\d+)\n/.exec(spawned.stdout())?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(Number(port));
    });
    void spawned.exited.then(() => {
      clearTimeout(timer);
      fail();
    });
  });

/** A store that is there already and that all the servers of the tests share. */
const shared = process.env.EVENTSTORE_URL;
export const isShared = shared !== undefined;

/**
 * With EVENTSTORE_URL the events of every server that the tests start are in that store, and the commands find them there.
 * With WEIR_EVENTSTORE=tls they are in stores as above, one for each data folder.
 */
export const isRemote = isShared || process.env.WEIR_EVENTSTORE === 'tls';

const stores = new Map<string, Promise<Environment>>();

const newStore = async (): Promise<Environment> => ({ EVENTSTORE_URL: (await startRemoteStore()).url });

/** Sees to it that a data folder has its store. */
export const makeStore = async (dataDir: string): Promise<void> => {
  if (!isRemote) return;
  const store = stores.get(dataDir) ?? (shared === undefined ? newStore() : Promise.resolve(atSharedStore(shared)));
  stores.set(dataDir, store);
  await store;
};

/** An environment with the store of its data folder, where there is one and no other is named. */
export const atItsStore = async (env: Environment): Promise<Environment> => {
  const store = env.EVENTSTORE_URL === undefined ? await stores.get(env.DATA_DIR ?? '') : undefined;
  return { ...store, ...env };
};
