import { BACKWARDS, END, jsonEvent } from '@eventstore/db-client';
import type { Client } from './owner.ts';

/** What Weir does in a store, each by a right of its own. */
export type Right = keyof typeof asking;

/** Nothing is ever there. */
const stream = 'log-rights';
/** No stream is ever so long: whoever may write there is told so, and nothing is written. */
const expectedRevision = BigInt(Number.MAX_SAFE_INTEGER);

const isAllowed = (error: unknown): void => {
  const { type } = error as { type?: unknown };
  if (type !== 'wrong-expected-version' && type !== 'stream-deleted' && type !== 'stream-not-found') throw error;
};

const read = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
};

/** Asks whether a right is there, and writes nothing; what it throws says that it is not, or nothing about it. */
export const asking = {
  'read $all': (client: Client) => read(client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 })),
  'read streams': (client: Client) => read(client.readStream(stream, { maxCount: 1 })).catch(isAllowed),
  'append to streams': (client: Client) =>
    client.appendToStream(stream, jsonEvent({ type: 'log.right', data: {} }), { expectedRevision }).catch(isAllowed),
  'write the metadata of streams': (client: Client) =>
    client.setStreamMetadata(stream, {}, { expectedRevision }).catch(isAllowed),
  'delete streams': (client: Client) => client.deleteStream(stream, { expectedRevision }).catch(isAllowed),
} as const satisfies Record<string, (client: Client) => Promise<unknown>>;
