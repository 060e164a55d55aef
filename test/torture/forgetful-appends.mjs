/**
 * Preloaded into a gateway whose protection is to be off: an append that is sent again has other ids, at whatever revision,
 * so that the store cannot know it.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

const { EventStoreDBClient } = createRequire(import.meta.url)('@eventstore/db-client');
const { prototype } = EventStoreDBClient;
const append = prototype.appendToStream;

prototype.appendToStream = function (stream, events, options) {
  const unknown = [events].flat().map((event) => ({ ...event, id: randomUUID() }));
  return append.call(this, stream, unknown, { ...options, expectedRevision: 'any' });
};
