/** The load on a store of events, from one process with the client as it is published. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { END, EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { clientFor } from '../../src/eventstoredb/client/target.ts';
import { serveParent } from '../machine/parent.ts';
import { Lanes } from './lanes.ts';
import { type Load, type Sample, sampleWindow, type WindowOptions } from './sample.ts';

export interface StoreOrder extends WindowOptions {
  readonly endpoint: string;
  readonly work:
    | { readonly is: 'append'; readonly inFlight: number; readonly perAppend: number }
    /** One append at a time, until a subscriber has its event. */
    | { readonly is: 'live' }
    | { readonly is: 'read' }
    /** By Weir's client, which asks for uncompressed answers. */
    | { readonly is: 'read-plain' }
    | { readonly is: 'catch-up' };
  /** Bytes of an event's data. */
  readonly eventBytes: number;
}

/** `done` counts events. */
export interface StoreSample extends Sample {
  /** Median time of an append, or of an append and its way to the subscriber, milliseconds. */
  readonly p50: number | null;
}

/** Events to be there before anything is measured: each begins a stream of its own. */
export interface FillOrder {
  readonly endpoint: string;
  readonly fill: number;
  readonly eventBytes: number;
}

const surroundings = JSON.stringify({ text: '' }).length;
const clients = new Map<string, EventStoreDBClient>();
const clientAt = (endpoint: string): EventStoreDBClient => {
  const client = clients.get(endpoint) ?? new EventStoreDBClient({ endpoint }, { insecure: true });
  clients.set(endpoint, client);
  return client;
};

let plain: EventStoreDBClient | undefined;
const plainAt = (endpoint: string): EventStoreDBClient => {
  plain ??= clientFor({ endpoint });
  return plain;
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

const filling = 1000;

const fill = async ({ endpoint, fill: wanted, eventBytes }: FillOrder): Promise<null> => {
  const client = clientAt(endpoint);
  const run = randomUUID().slice(0, 8);
  const events = eventsOf(eventBytes);
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < wanted)
      await client.appendToStream(`bench-${run}-${begun++}`, events(1), { expectedRevision: NO_STREAM });
  };
  await Promise.all(Array.from({ length: filling }, lane));
  return null;
};

const eventsOf = (eventBytes: number) => {
  const data = { text: 'e'.repeat(eventBytes - surroundings) };
  return (count: number) => Array.from({ length: count }, () => jsonEvent({ type: 'bench.appended', data }));
};

/** Resolves once the subscriber has been given the event with an id. */
class Subscriber {
  readonly #subscription;
  #wanted: string | undefined;
  #given: (() => void) | undefined;

  constructor(client: EventStoreDBClient) {
    this.#subscription = client.subscribeToAll({ fromPosition: END });
    this.#subscription.on('data', ({ event }) => {
      if (event?.id === this.#wanted) this.#given?.();
    });
  }

  async listens(): Promise<void> {
    await once(this.#subscription, 'confirmation');
  }

  given(id: string): Promise<void> {
    this.#wanted = id;
    return new Promise((resolve) => {
      this.#given = resolve;
    });
  }

  async end(): Promise<void> {
    await this.#subscription.unsubscribe();
  }
}

const middleOf = (times: number[]): number | null => times.sort((a, b) => a - b)[times.length >> 1] ?? null;

serveParent(async (question) => {
  if ('fill' in (question as object)) return fill(question as FillOrder);
  const { endpoint, work, eventBytes, ...window } = question as StoreOrder;
  if (work.is === 'read-plain') return sampleWindow(window, new Counting(readOnce(plainAt(endpoint))));
  const client = clientAt(endpoint);
  if (work.is === 'read') return sampleWindow(window, new Counting(readOnce(client)));
  if (work.is === 'catch-up') return sampleWindow(window, new Counting(catchUpOnce(client)));
  const perAppend = work.is === 'append' ? work.perAppend : 1;
  const subscriber = work.is === 'live' ? new Subscriber(client) : undefined;
  await subscriber?.listens();
  const run = randomUUID();
  const make = eventsOf(eventBytes);
  const revisions = new Map<number, bigint>();
  const times: number[] = [];
  const append = async (lane: number): Promise<void> => {
    const expectedRevision = revisions.get(lane) ?? NO_STREAM;
    const events = make(perAppend);
    const given = subscriber?.given(events[0]!.id);
    const begun = performance.now();
    const { nextExpectedRevision } = await client.appendToStream(`bench-${run}-${lane}`, events, { expectedRevision });
    await given;
    times.push(performance.now() - begun);
    revisions.set(lane, nextExpectedRevision);
  };
  const sample = await sampleWindow(window, new Lanes(work.is === 'append' ? work.inFlight : 1, append));
  await subscriber?.end();
  return { ...sample, done: sample.done * perAppend, p50: middleOf(times) };
});
