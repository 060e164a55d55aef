import { EventStoreDBClient } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { checkedClient, connectionOf } from '../../src/eventstoredb/client/client-internals.ts';
import { guardClient } from '../../src/eventstoredb/guard.ts';
import { installedVersion } from '../support/installed.ts';

/** What the client does when one of its streams has failed, and the connection that it makes next. */
interface Inner {
  getChannel(): Promise<unknown>;
  handleError(grpcClient: { getChannel(): unknown }, error: unknown): Promise<void>;
}

test('a stream that fails while the next discovery is given up leaves no rejection that nobody holds', async () => {
  // Nothing listens on ports 1 and 2.
  const url = 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false&maxDiscoverAttempts=2&discoveryInterval=10';
  const client = EventStoreDBClient.connectionString(url) as unknown as Inner;
  guardClient(client);
  const next = client.getChannel();
  const handled = client.handleError({ getChannel: () => 'the one before' }, { code: 14, metadata: undefined });
  await expect(next).rejects.toThrow('Failed to discover after 2 attempts');
  await expect(handled).resolves.toBeUndefined();
});

test('a client that is built otherwise is refused', () => {
  expect(() => guardClient({})).toThrow(`this is not @eventstore/db-client ${checkedClient}`);
  expect(() => guardClient({ GRPCStreamCreator: () => {} })).toThrow('its client has no handleError');
});

test('what is used of the inside of the client was checked against the version that is installed', () => {
  expect(installedVersion('@eventstore/db-client')).toBe(checkedClient);
});

test('a client shows its connection, pending until it has found its store', async () => {
  const client = EventStoreDBClient.connectionString('esdb://127.0.0.1:1,127.0.0.1:2?tls=false&discoveryInterval=10');
  const connection = connectionOf(client);
  const first = await Promise.race([connection, new Promise((resolve) => setImmediate(resolve, 'pending'))]);
  expect(first).toBe('pending');
  await expect(connection).rejects.toThrow('Failed to discover');
});
