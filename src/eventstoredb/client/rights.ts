import { BACKWARDS, END, jsonEvent } from '@eventstore/db-client';
import type { Client } from './owner.ts';

export type Right = keyof typeof asking;

/** Never written to. */
const stream = 'log-rights';
/** No stream has this revision, so the store checks the right and writes nothing. */
const expectedRevision = BigInt(Number.MAX_SAFE_INTEGER);

const isAllowed = (error: unknown): void => {
  const { type } = error as { type?: unknown };
  if (type !== 'wrong-expected-version' && type !== 'stream-deleted' && type !== 'stream-not-found') throw error;
};

const read = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
};

/** Tests each right without writing; throws when it is missing, or for other reasons. */
export const asking = {
  'read $all': (client: Client) => read(client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 })),
  'read streams': (client: Client) => read(client.readStream(stream, { maxCount: 1 })).catch(isAllowed),
  'append to streams': (client: Client) =>
    client.appendToStream(stream, jsonEvent({ type: 'log.right', data: {} }), { expectedRevision }).catch(isAllowed),
  'write the metadata of streams': (client: Client) =>
    client.setStreamMetadata(stream, {}, { expectedRevision }).catch(isAllowed),
  'delete streams': (client: Client) => client.deleteStream(stream, { expectedRevision }).catch(isAllowed),
} as const satisfies Record<string, (client: Client) => Promise<unknown>>;
