import { EventStoreDBClient } from '@eventstore/db-client';
import { clientFor, type Target } from '../../src/eventstoredb/client/target.ts';
import { type Client, limitsOf, type SizeLimits, theClient } from './target.ts';

export const eventStoreClient = (target: Target): Client => clientFor(target);

/**
 * Clients of which each has a connection of its own: those of one process share one where nothing about them differs,
 * so their pings differ by milliseconds.
 */
export const connectionsTo = (target: Target, count: number): Client[] =>
  Array.from({ length: count }, (_, i) => {
    const keepAliveInterval = 10_001 + i;
    if ('endpoint' in target) return new EventStoreDBClient({ ...target, keepAliveInterval }, { insecure: true });
    const url = `${target.url}${target.url.includes('?') ? '&' : '?'}keepAliveInterval=${keepAliveInterval}`;
    return clientFor({ url });
  });

/** The limits of the server that the tests of a file share, which says its version. */
export const theLimits = async (): Promise<SizeLimits> => {
  const { serverVersion } = await (theClient() as unknown as { capabilities: Promise<{ serverVersion: string }> })
    .capabilities;
  return limitsOf(serverVersion);
};
