/** The load on a store of events, from one process with the client as it is published. */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { serveParent } from '../machine/parent.ts';
import { Lanes } from './lanes.ts';
import { type Load, type Sample, sampleWindow, type WindowOptions } from './sample.ts';

export interface StoreOrder extends WindowOptions {
  readonly endpoint: string;
  readonly work:
    | { readonly is: 'append'; readonly inFlight: number; readonly perAppend: number }
    | { readonly is: 'read' }
    | { readonly is: 'catch-up' };
  /** Bytes of an event's data. */
  readonly eventBytes: number;
}

/** `done` counts events. */
export interface StoreSample extends Sample {
  /** Median time of an append, milliseconds. */
  readonly p50: number | null;
}

const surroundings = JSON.stringify({ text: '' }).length;
const clients = new Map<string, EventStoreDBClient>();
const clientAt = (endpoint: string): EventStoreDBClient => {
  const client = clients.get(endpoint) ?? new EventStoreDBClient({ endpoint }, { insecure: true });
  clients.set(endpoint, client);
  return client;
};

/** Counts what an endless task has done since it began, until it is told to stop. */
class Counting implements Load {
  done = 0;
  readonly bytes = 0;
  failure: Error | undefined;
  stopping = false;
  readonly #running: Promise<void>;

  constructor(once: (load: Counting) => Promise<void>) {
    this.#running = (async () => {
      try {
        while (!this.stopping) await once(this);
      } catch (error) {
        this.failure = error as Error;
      }
    })();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.#running;
  }
}

const readOnce = (client: EventStoreDBClient) => async (load: Counting) => {
  for await (const { event } of client.readAll()) {
    if (event !== undefined) load.done++;
    if (load.stopping) return;
  }
};

const catchUpOnce = (client: EventStoreDBClient) => (load: Counting) =>
  new Promise<void>((resolve, reject) => {
    const subscription = client.subscribeToAll();
    const end = (): void => void subscription.unsubscribe().then(resolve, reject);
    subscription.on('data', () => {
      load.done++;
      if (load.stopping) end();
    });
    subscription.on('caughtUp', end);
    subscription.on('error', reject);
  });

serveParent(async (question) => {
  const { endpoint, work, eventBytes, ...window } = question as StoreOrder;
  const client = clientAt(endpoint);
  if (work.is === 'read') return sampleWindow(window, new Counting(readOnce(client)));
  if (work.is === 'catch-up') return sampleWindow(window, new Counting(catchUpOnce(client)));
  const run = randomUUID();
  const data = { text: 'e'.repeat(eventBytes - surroundings) };
  const revisions = new Map<number, bigint>();
  const times: number[] = [];
  const append = async (lane: number): Promise<void> => {
    const expectedRevision = revisions.get(lane) ?? NO_STREAM;
    const events = Array.from({ length: work.perAppend }, () => jsonEvent({ type: 'bench.appended', data }));
    const begun = performance.now();
    const { nextExpectedRevision } = await client.appendToStream(`bench-${run}-${lane}`, events, { expectedRevision });
    times.push(performance.now() - begun);
    revisions.set(lane, nextExpectedRevision);
  };
  const sample = await sampleWindow(window, new Lanes(work.inFlight, append));
  times.sort((a, b) => a - b);
  return { ...sample, done: sample.done * work.perAppend, p50: times[times.length >> 1] ?? null };
});
