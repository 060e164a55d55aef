import { existsSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';

/** The embedded store's socket, which no connection string can name, or a connection string (`esdb://…`, `kurrentdb://…`). */
export type Target = { readonly endpoint: string } | { readonly url: string };

/** Files that a connection string may name; the client says of none which it is. */
const fileOption = /[?&](tlsCAFile|userCertFile|userKeyFile)=([^&]*)/gi;

const missingFile = (url: string): string | undefined => {
  for (const [, option, value = ''] of url.matchAll(fileOption)) {
    const file = decodeURIComponent(value);
    if (!existsSync(file)) return `there is no file ${file}, which ${option} names`;
  }
  return undefined;
};

/** Credentials as the client finds them, and the hosts behind. */
const hostsOf = /^[^:]+:\/\/(?:[^:]+:[^@]+@)?([^/?]*)/;

/** A port that no host has; the client would try it until the time is up. */
const badPort = (url: string): string | undefined =>
  hostsOf
    .exec(url)?.[1]
    ?.split(',')
    .map((host) => /:(\d+)$/.exec(host)?.[1])
    .find((port) => port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535));

/** With it the client answers a refused append with numbers that mean nothing (eventstore.md 1.4, 5). */
const quiet = /[?&]throwOnAppendFailure=false\b/i;

/**
 * Seconds for a node to say who leads. The client gives it five: a frozen node that is asked first costs them all, and whoever
 * waits for the next leader with it.
 */
const gossipTimeoutSeconds = 1;

const hastily = (url: string): string => {
  if (/[?&]gossipTimeout=/i.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}gossipTimeout=${gossipTimeoutSeconds}`;
};

/** The client as it comes, but for its patience with gossip. @throws Error for a connection string that cannot be used; it says why and shows no password */
export const clientFor = (target: Target): EventStoreDBClient => {
  if ('endpoint' in target) return new EventStoreDBClient({ endpoint: target.endpoint }, { insecure: true });
  if (quiet.test(target.url)) throw unusable('throwOnAppendFailure must be left at its default');
  const port = badPort(target.url);
  if (port !== undefined) throw unusable(`${port} is no port; there are 1 to 65535`);
  try {
    // The newer name of the same; the client knows the older one alone.
    return EventStoreDBClient.connectionString(hastily(target.url.replace(/^kurrentdb/, 'esdb')));
  } catch (cause) {
    throw unusable(missingFile(target.url) ?? String((cause as Error).message).replace(/\.$/, ''), cause);
  }
};

const unusable = (why: string, cause?: unknown): Error =>
  new Error(`EVENTSTORE_URL cannot be used: ${why}.`, cause === undefined ? {} : { cause });
