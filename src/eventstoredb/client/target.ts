import { existsSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';
import { askUncompressed } from './client-internals.ts';
import { type ConnectionString, type Ignored, readConnectionString } from './connection-string.ts';

/** The embedded store's socket, or a connection string (`esdb://…`, `kurrentdb://…`). */
export type Target = { readonly endpoint: string } | { readonly url: string };

/** Options with files; the client's errors do not name the file. */
const fileOptions = ['tlsCAFile', 'userCertFile', 'userKeyFile'] as const;

const missingFile = (read: ConnectionString): string | undefined => {
  for (const option of fileOptions) {
    const file = read.option(option);
    if (file !== undefined && !existsSync(file)) return `there is no file ${file}, which ${option} names`;
  }
  return undefined;
};

/** An impossible port, which the client would try until the time is up. */
const badPort = ({ hosts }: ConnectionString): number | undefined =>
  hosts.find(({ port }) => port < 1 || port > 65_535)?.port;

/** Seconds. The client's default of five is lost on a frozen node that is asked first. */
const gossipTimeout = '1';

/** A client that asks for uncompressed answers. @throws UnusableTarget, without the password */
export const clientFor = (target: Target): EventStoreDBClient => {
  const client = plainClientFor(target);
  askUncompressed(client);
  return client;
};

const plainClientFor = (target: Target): EventStoreDBClient => {
  if ('endpoint' in target) return new EventStoreDBClient({ endpoint: target.endpoint }, { insecure: true });
  const read = readConnectionString(target.url);
  // With this option the client returns wrong numbers for a refused append.
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

export const isDiscovered = (target: Target): boolean =>
  'url' in target && readConnectionString(target.url).isDiscovered;

export const ignoredOptions = (target: Target): readonly Ignored[] =>
  'url' in target ? readConnectionString(target.url).ignored : [];

/** The message is a sentence with the reason. */
export class UnusableTarget extends Error {
  override readonly name = 'UnusableTarget';
}

const unusable = (why: string, cause?: unknown): UnusableTarget =>
  new UnusableTarget(`EVENTSTORE_URL cannot be used: ${why}.`, cause === undefined ? {} : { cause });
