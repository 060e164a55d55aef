/** The load on the event store: the client as it is published, one event an append, each lane in a stream of its own. */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { serveParent } from '../machine/parent.ts';
import { Lanes } from './lanes.ts';
import { sampleWindow, type WindowOptions } from './sample.ts';

export interface AppendOrder extends WindowOptions {
  readonly endpoint: string;
  readonly inFlight: number;
  /** Bytes of an event's data. */
  readonly eventBytes: number;
}

const surroundings = JSON.stringify({ text: '' }).length;
const run = randomUUID();
const revisions = new Map<number, bigint>();
let client: EventStoreDBClient | undefined;

serveParent((question) => {
  const { endpoint, inFlight, eventBytes, ...window } = question as AppendOrder;
  client ??= new EventStoreDBClient({ endpoint }, { insecure: true });
  const data = { text: 'e'.repeat(eventBytes - surroundings) };
  const append = async (lane: number): Promise<void> => {
    const expectedRevision = revisions.get(lane) ?? NO_STREAM;
    const event = jsonEvent({ type: 'bench.appended', data });
    const { nextExpectedRevision } = await client!.appendToStream(`bench-${run}-${lane}`, event, { expectedRevision });
    revisions.set(lane, nextExpectedRevision);
  };
  return sampleWindow(window, new Lanes(inFlight, append));
});
