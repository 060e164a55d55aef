// Writes to a store of its own in this very process and notes in a file, before and after each append, what it asked for
// and what it was answered; the preloaded write log puts these marks among the writes of the store. Arguments: directory,
// file for the marks, number of appends, settings of the store as JSON. The build of the store is in EMBEDDED_BUILD.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import db from '@eventstore/db-client';

const [dir, marksFile, appends, settings] = process.argv.slice(2);
const { runStore } = await import(join(process.env.EMBEDDED_BUILD, 'run-store.js'));
const store = await runStore({ dir, listen: { socket: join(dir, 's.sock') }, ...JSON.parse(settings) });
const client = new db.EventStoreDBClient({ endpoint: store.endpoint }, { insecure: true });
const marks = openSync(marksFile, 'a');
const mark = (what) => writeSync(marks, `${JSON.stringify(what)}\n`);
const hashOf = (data) => createHash('sha1').update('torn').update(JSON.stringify(data)).update('null').digest('base64');

let asked = 0;
const writer = async (number) => {
  let revision = -1;
  while (asked < Number(appends)) {
    const op = asked++;
    const events = Array.from({ length: 1 + (op % 3) }, (_, i) =>
      db.jsonEvent({ type: 'torn', data: { op, i, fill: 'f'.repeat((op * 131) % (op % 17 === 0 ? 9000 : 700)) } }),
    );
    const sent = events.map(({ id, data }) => ({ id, hash: hashOf(data) }));
    mark({ is: 'asked', op, stream: `torn-${number}`, expected: revision, events: sent });
    const expectedRevision = revision < 0 ? 'no_stream' : BigInt(revision);
    const answer = await client.appendToStream(`torn-${number}`, events, { expectedRevision });
    revision = Number(answer.nextExpectedRevision);
    mark({ is: 'answered', op, revision, position: String(answer.position.commit) });
  }
};
await Promise.all([0, 1, 2].map(writer));
process.exit(0);
