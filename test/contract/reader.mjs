// Follows the streams with a prefix and writes position and number of each event down, one line an event; begins behind
// the last line that is there. Arguments: the target as JSON, the prefix, the file.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { EventStoreDBClient, START, streamNameFilter } from '@eventstore/db-client';

const [target, prefix, file] = process.argv.slice(2);
const { endpoint, url } = JSON.parse(target);
const client =
  url === undefined
    ? new EventStoreDBClient({ endpoint }, { insecure: true })
    : EventStoreDBClient.connectionString(url);
const last = existsSync(file) ? BigInt(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1).split(' ')[0]) : null;
client
  .subscribeToAll({
    fromPosition: last === null ? START : { commit: last, prepare: last },
    filter: streamNameFilter({ prefixes: [prefix] }),
  })
  .on('data', ({ event }) => appendFileSync(file, `${event.position.commit} ${event.data.i}\n`));
