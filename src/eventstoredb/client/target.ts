import { existsSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';
import { askUncompressed } from './client-internals.ts';
import { type ConnectionString, type Ignored, readConnectionString } from './connection-string.ts';

/** The embedded store's socket, which no connection string can name, or a connection string (`esdb://…`, `kurrentdb://…`). */
export type Target = { readonly endpoint: string } | { readonly url: string };

/** Files that a connection string may name; the client says of none which it is. */
const fileOptions = ['tlsCAFile', 'userCertFile', 'userKeyFile'] as const;

const missingFile = (read: ConnectionString): string | undefined => {
  for (const option of fileOptions) {
    const file = read.option(option);
    if (file !== undefined && !existsSync(file)) return `there is no file ${file}, which ${option} names`;
  }
  return undefined;
};

/** A port that no host has; the client would try it until the time is up. What is no number the client finds. */
const badPort = ({ hosts }: ConnectionString): number | undefined =>
  hosts.find(({ port }) => port < 1 || port > 65_535)?.port;

/**
 * Seconds for a node to say who leads. The client gives it five: a frozen node that is asked first costs them all, and whoever
 * waits for the next leader with it.
 */
const gossipTimeout = '1';

/** The client, which asks for uncompressed answers. @throws UnusableTarget, which shows no password */
export const clientFor = (target: Target): EventStoreDBClient => {
  const client = plainClientFor(target);
  askUncompressed(client);
  return client;
};

/** The client as it comes, but for its time limit of gossip. */
const plainClientFor = (target: Target): EventStoreDBClient => {
  if ('endpoint' in target) return new EventStoreDBClient({ endpoint: target.endpoint }, { insecure: true });
  const read = readConnectionString(target.url);
  // With it the client answers a refused append with numbers that mean nothing.
  if (read.option('throwOnAppendFailure') === 'false')
    throw unusable('throwOnAppendFailure must be left at its default');
  const port = badPort(read);
  if (port !== undefined) throw unusable(`${port} is no port; there are 1 to 65535`);
  try {
    return EventStoreDBClient.connectionString(read.with({ gossipTimeout }));
  } catch (cause) {
    throw unusable(missingFile(read) ?? String((cause as Error).message).replace(/\.$/, ''), cause);
  }
};

/** Whether the client asks a host which node to go to. */
export const isDiscovered = (target: Target): boolean =>
  'url' in target && readConnectionString(target.url).isDiscovered;

/** What of a connection string has no effect. */
export const ignoredOptions = (target: Target): readonly Ignored[] =>
  'url' in target ? readConnectionString(target.url).ignored : [];

/** The connection string cannot be used; the message says why, in a sentence. */
export class UnusableTarget extends Error {
  override readonly name = 'UnusableTarget';
}

const unusable = (why: string, cause?: unknown): UnusableTarget =>
  new UnusableTarget(`EVENTSTORE_URL cannot be used: ${why}.`, cause === undefined ? {} : { cause });
