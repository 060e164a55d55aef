import { aggregates, type Category } from '../domain/aggregates.ts';
import { prefixes, whose } from '../domain/streams.ts';
import { type Aggregate, genesis, record, type State, stateOf } from '../kernel/aggregate.ts';
import { checkLink } from '../kernel/fold.ts';
import type { EventStore, Recorded } from '../kernel/store.ts';
import { upcast } from '../kernel/upcast.ts';

// biome-ignore lint/suspicious/noExplicitAny: replaying needs no more of an aggregate than its chart, whatever its facts.
type AnyAggregate = Aggregate<any, any, any>;

/** Which kind of aggregate an id belongs to, by its prefix (contract A.1). */
const kinds: ReadonlyMap<string, AnyAggregate> = new Map(
  Object.entries(prefixes).flatMap(([category, prefix]) =>
    prefix === null ? [] : [[prefix, aggregates[category as Category]]],
  ),
);

/** The id names nothing, or nothing that has a history. */
export class NoHistory extends Error {
  override readonly name = 'NoHistory';
}

/** The id is none that could name anything. */
export class NotAnId extends NoHistory {}

const kindOf = (id: string): AnyAggregate => {
  const kind = kinds.get(id.slice(0, Math.max(0, id.indexOf('_'))));
  if (!kind) {
    const prefixes = [...kinds.keys()].map((known) => `${known}_`);
    throw new NotAnId(
      `${id} is not the id of an organization, project, key, policy or OAuth client (${prefixes.join(', ')}).`,
    );
  }
  return kind;
};

/**
 * Every event of one aggregate that is ours, oldest first.
 * @throws NoHistory
 * @throws CorruptStream where one was not written behind the one before
 */
export const history = async (store: EventStore, id: string): Promise<Recorded[]> => {
  const events: Recorded[] = [];
  for await (const event of store.read(`${kindOf(id).category}-${id}`)) {
    if (whose(event) !== 'ours') continue;
    checkLink(event, events.at(-1) ?? null);
    events.push(event);
  }
  if (events.length === 0) throw new NoHistory(`There is no ${id} in this store.`);
  return events;
};

/** A moment of an aggregate's life: a revision, or a time in milliseconds. Both inclusive. */
export type Moment = { readonly revision: number } | { readonly time: number };

export interface StateAt {
  readonly id: string;
  readonly revision: number;
  /** Time of the last event that the state includes, in milliseconds. */
  readonly at: number;
  readonly state: State<unknown>;
}

/**
 * The aggregate as it stood at a moment, replayed by the law itself; without a moment, as it stands.
 * @throws NoHistory when it did not exist then
 * @throws IllegalFact when the stream holds what the law does not admit
 */
export const stateAt = async (store: EventStore, id: string, moment?: Moment): Promise<StateAt> => {
  const kind = kindOf(id);
  const { machine } = kind;
  const within = (event: Recorded): boolean => {
    if (moment === undefined) return true;
    return 'revision' in moment ? event.revision <= moment.revision : event.metadata.at <= moment.time;
  };
  let snapshot = genesis(machine);
  let last: Recorded | undefined;
  for (const event of await history(store, id)) {
    if (!within(event)) break;
    snapshot = record(machine, snapshot, upcast(kind, event));
    last = event;
  }
  if (!last) throw new NoHistory(`${id} did not exist then.`);
  return { id, revision: last.revision, at: last.metadata.at, state: stateOf(snapshot) };
};
