import { existsSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';

/** The embedded store's socket, which no connection string can name, or a connection string (`esdb://…`). */
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

/** The client as it comes. @throws Error for a connection string that cannot be used; it says why and shows no password */
export const clientFor = (target: Target): EventStoreDBClient => {
  if ('endpoint' in target) return new EventStoreDBClient({ endpoint: target.endpoint }, { insecure: true });
  try {
    return EventStoreDBClient.connectionString(target.url);
  } catch (cause) {
    const why = missingFile(target.url) ?? String((cause as Error).message).replace(/\.$/, '');
    throw new Error(`EVENTSTORE_URL cannot be used: ${why}.`, { cause });
  }
};
