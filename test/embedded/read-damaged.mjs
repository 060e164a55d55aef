// Starts the store in each of the folders named on standard input, one a line, reads everything in it every way there
// is, and prints what came as one line of JSON. A store that kills the process kills this one, which is the point.
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { EventStoreDBClient } from '@eventstore/db-client';
import { register } from 'tsx/esm/api';

register();
const { startEmbedded } = await import('../../src/embedded/index.ts');

const shown = ({ event }) => {
  const text = JSON.stringify([event.type, event.data, event.metadata ?? null, event.created.getTime()]);
  const digest = createHash('sha256').update(text).digest('base64');
  return `${event.position.commit} ${event.revision}@${event.streamId} ${event.id} ${digest}`;
};

/** The events of one read and, where it ended with one, its error. */
const gather = async (read) => {
  const events = [];
  try {
    for await (const resolved of read) events.push(shown(resolved));
    return { events };
  } catch (error) {
    return { events, error: error.type ?? error.message };
  }
};

async function readAll(dir, streams) {
  let store;
  try {
    store = await startEmbedded({ dir, inThread: true });
  } catch (error) {
    return { refused: error.message };
  }
  const client = new EventStoreDBClient({ endpoint: store.endpoint }, { insecure: true });
  const reads = {
    forwards: await gather(client.readAll()),
    backwards: await gather(client.readAll({ direction: 'backwards', fromPosition: 'end' })),
  };
  for (const name of streams) reads[name] = await gather(client.readStream(name));
  await client.dispose();
  await store.close();
  return { reads };
}

for await (const line of createInterface(process.stdin)) {
  const { dir, streams } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await readAll(dir, streams))}\n`);
}
process.exit(0);
