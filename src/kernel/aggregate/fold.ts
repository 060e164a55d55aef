import type { AnyStateMachine } from 'xstate';
import type { Budget } from '../store/budget.ts';
import { type Hashed, hashOf } from '../store/event-hash.ts';
import type { Whose } from '../store/ownership.ts';
import type { EventStore, Recorded } from '../store/store.ts';
import {
  type Aggregate,
  type Decisions,
  type DomainEvent,
  genesis,
  IllegalEvent,
  type Snapshot,
  stateOf,
} from './aggregate.ts';
import { compile, type Table } from './chart.ts';
import { upcast } from './upcast.ts';

/** The stream has an event that its chart does not admit, or lacks one. No command can be decided on it. */
export class CorruptStream extends Error {
  override readonly name = 'CorruptStream';
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly why: string;
  constructor(stream: string, revision: number, type: string, why: string, cause?: unknown) {
    super(`${stream} is corrupt at revision ${revision} (${type}): ${why}`, { cause });
    this.stream = stream;
    this.revision = revision;
    this.type = type;
    this.why = why;
  }
}

export interface EventPlace {
  readonly revision: number;
  readonly position: bigint;
}

/** A stream's folded events, and the places of the latest of them. */
export interface FoldedStream {
  readonly snapshot: Snapshot;
  /** Revision of the last event folded; null while there is none. */
  readonly revision: number | null;
  readonly position: bigint | null;
  /** The last event of ours; the next one has its hash. */
  readonly last: Hashed | null;
  readonly places: ReadonlyMap<string, EventPlace>;
}

/** How many events back a repeated command is recognised. */
const placesKept = 64;

export const blank = (machine: AnyStateMachine): FoldedStream => ({
  snapshot: genesis(machine),
  revision: null,
  position: null,
  last: null,
  places: new Map(),
});

/** Adds events to a folded stream whose `snapshot` has them applied already. */
export const advance = (
  from: FoldedStream,
  snapshot: Snapshot,
  events: readonly (EventPlace & { readonly id: string })[],
  last: Hashed | null,
): FoldedStream => {
  const places = new Map(from.places);
  for (const { id, revision, position } of events) places.set(id, { revision, position });
  for (const oldest of places.keys()) {
    if (places.size <= placesKept) break;
    places.delete(oldest);
  }
  const { revision, position } = events.at(-1) ?? from;
  return { snapshot, revision, position, last, places };
};

/** The place of the last of these events, if all are on the stream one after another. */
export const placeOfEvents = (
  replay: FoldedStream,
  events: readonly { readonly id: string }[],
): EventPlace | undefined => {
  const first = replay.places.get(events[0]?.id ?? '')?.revision;
  if (first === undefined) return undefined;
  const inPlace = events.every(({ id }, index) => replay.places.get(id)?.revision === first + index);
  return inPlace ? replay.places.get(events.at(-1)!.id) : undefined;
};

/** The `prev` of an event that follows `last`. */
export const prevOf = (last: Hashed | null): { readonly prev?: string } =>
  last === null ? {} : { prev: hashOf(last) };

/** @throws CorruptStream where `prev` is not the hash of the event before */
export const checkLink = ({ stream, revision, type, metadata }: Recorded, last: Hashed | null): void => {
  if (metadata.prev === prevOf(last).prev) return;
  const before = last === null ? 'nothing' : `what revision ${last.revision} holds now`;
  throw new CorruptStream(stream, revision, type, `it was not written behind ${before}`);
};

// biome-ignore lint/suspicious/noExplicitAny: folding needs only the chart and what events change.
type AnyAggregate = Aggregate<any, any, Decisions<any, any>>;

const tables = new WeakMap<AnyAggregate, Table<object, DomainEvent>>();

const tableOf = (aggregate: AnyAggregate): Table<object, DomainEvent> => {
  const known = tables.get(aggregate) ?? compile<object, DomainEvent>(aggregate);
  tables.set(aggregate, known);
  return known;
};

/**
 * Folds the events beyond `from`. An event that is not ours counts for the revision and changes nothing.
 * @throws CorruptStream where the chart does not admit an event of ours, a revision is missing, or `prev` does not match
 */
export const catchUp = async (
  aggregate: AnyAggregate,
  store: EventStore,
  stream: string,
  from: FoldedStream,
  whose: Whose,
  budget?: Budget,
): Promise<FoldedStream> => {
  const start = from.revision === null ? 0 : from.revision + 1;
  const events: Recorded[] = [];
  const table = tableOf(aggregate);
  let state = stateOf<object>(from.snapshot);
  let { last } = from;
  for await (const event of store.read(stream, { from: start, budget })) {
    const due = start + events.length;
    if (event.revision !== due) {
      throw new CorruptStream(stream, due, event.type, `revision ${event.revision} is in its place`);
    }
    const isOurs = whose(event) === 'ours';
    if (isOurs) checkLink(event, last);
    try {
      if (isOurs) state = table.step(state, upcast(aggregate, event));
    } catch (error) {
      if (!(error instanceof IllegalEvent)) throw error;
      throw new CorruptStream(stream, due, event.type, error.message, error);
    }
    events.push(event);
    if (isOurs) last = event;
  }
  if (events.length === 0) return from;
  const snapshot = aggregate.machine.resolveState({ value: state.status, context: state.data });
  return advance(from, snapshot, events, last);
};
