import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { afterAll, beforeAll, inject, test } from 'vitest';
import { type Embedded, startEmbedded } from '../../src/embedded/index.ts';
import type { Target } from '../../src/eventstoredb/client/target.ts';

// Nothing here may load a client: the code that both generate from the same .proto files registers itself in the global
// object, so whichever is loaded second breaks the first. Each test file loads one of them.

/**
 * A server that is there already, as a connection string: the one in EVENTSTORE_URL or, with WEIR_EVENTSTORE=tls, Weir's own
 * over TLS, which is treated as any other. Without one the embedded server is started.
 */
export const given = process.env.EVENTSTORE_URL ?? inject('tlsStore');
export const isEmbedded = given === undefined;

/** What both clients can do, in the words of the older one. */
export type Client = Pick<
  EventStoreDBClient,
  | 'appendToStream'
  | 'readStream'
  | 'readAll'
  | 'subscribeToStream'
  | 'subscribeToAll'
  | 'deleteStream'
  | 'tombstoneStream'
  | 'setStreamMetadata'
  | 'getStreamMetadata'
  | 'dispose'
>;

/** The server that the tests of a file share, and the client to it. */
let target: Target | undefined;
let client: Client | undefined;

/**
 * To be called once in each file, with the way to make a client. The embedded server runs as it does under a gateway: in a
 * worker thread, on a unix socket, or on a TCP port where the client wants a connection string.
 */
export function useServer(connect: (target: Target) => Client, over: 'socket' | 'tcp' = 'socket'): void {
  let server: Embedded | undefined;
  let dir: string | undefined;
  beforeAll(async () => {
    if (given === undefined) {
      dir = mkdtempSync(join(tmpdir(), 'weir-contract-'));
      server = await startEmbedded({ dir, ...(over === 'tcp' && { port: 0 }) });
      target = over === 'tcp' ? { url: `esdb://${server.endpoint}?tls=false` } : { endpoint: server.endpoint };
    } else {
      target = { url: given };
    }
    client = connect(target);
  });
  afterAll(async () => {
    await client?.dispose();
    await server?.close();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });
}

export const theTarget = (): Target => target!;

export const theClient = (): Client => client!;

/** The user whom the connection string names, else the one whom every new server has. */
export const credentials = (): { username: string; password: string } => {
  const { username, password } = new URL((given ?? 'esdb://none').replace(/^esdb(\+discover)?:/, 'http:'));
  if (username === '') return { username: 'admin', password: 'changeit' };
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
};

/** What a server refuses for its size, in bytes. */
export interface SizeLimits {
  /** Of the data of one append. */
  readonly append: number;
  /** Of one event, where that is less. */
  readonly event: number;
}

const MIB = 1024 * 1024;

/** The defaults of a real node of this version: KurrentDB took another limit for appends with 25.1, and one for events. */
export const limitsOf = (version: string): SizeLimits => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 25 || (major === 25 && minor >= 1)
    ? { append: 256 * MIB, event: 16 * MIB }
    : { append: MIB, event: MIB };
};

if (!isEmbedded)
  process.stderr.write(
    'SKIPPED: what kills, freezes or sets up its server, which is nothing to be done to one that is there.\n',
  );

/** A test that kills, freezes or sets up its server: nothing to be done to somebody else's. */
export const embeddedTest = (isEmbedded ? test : test.skip) as typeof test;
