import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificateAuthority, signedBy } from './certificates.ts';
import { exitOf, freshDir, inTurn, patienceMs, type Spawned, spawnWeir, tail } from './weir-process.ts';

/** `weir eventstore` over TLS with a user and a password, in a process of its own: what a cluster is to a gateway. */
export interface RemoteStore {
  readonly port: number;
  /** The folder of its events. */
  readonly dir: string;
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

export interface RemoteStoreOptions {
  /** Whom its certificate is for, by default this machine. */
  readonly hosts?: readonly string[];
  /** By default one of which every character has to survive the connection string and the header. */
  readonly password?: string;
}

export const startRemoteStore = async ({
  hosts = ['localhost', '127.0.0.1'],
  password = 'p@ss:wörd/%?',
}: RemoteStoreOptions = {}): Promise<RemoteStore> => {
  const dir = freshDir('remote');
  mkdirSync(dir);
  const file = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text);
    return path;
  };
  const authority = certificateAuthority();
  const { cert, key } = signedBy(authority, hosts);
  const caFile = file('ca.crt', authority.cert);
  const secured = ['--tls-cert', file('node.crt', cert), '--tls-key', file('node.key', key)];
  const credentials = `svc:${encodeURIComponent(password)}@`;
  const user = ['--user', 'svc', '--password-file', file('password', `${password}\n`)];
  const events = join(dir, 'events');
  const start = (port: number) =>
    inTurn(async () => {
      const args = ['eventstore', '--dir', events, '--port', String(port), ...secured, ...user];
      const spawned = spawnWeir(args, {});
      return { spawned, port: await listening(spawned) };
    });
  let { spawned, port } = await start(0);
  const urlWith: RemoteStore['urlWith'] = (other) =>
    `esdb://${other.credentials ?? credentials}localhost:${port}?${other.query ?? `tlsCAFile=${caFile}`}`;
  return {
    port,
    dir: events,
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
