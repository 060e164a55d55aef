import { aggregates, type Category } from '../domain/aggregates.ts';
import { prefixes, whose } from '../domain/streams.ts';
import { type Aggregate, type DomainEvent, IllegalEvent, type State } from '../kernel/aggregate/aggregate.ts';
import { compile, type Table } from '../kernel/aggregate/chart.ts';
import { CorruptStream, checkLink } from '../kernel/aggregate/fold.ts';
import { upcast } from '../kernel/aggregate/upcast.ts';
import type { CallOptions, EventStore, Recorded } from '../kernel/store/store.ts';
import { shownState } from './shown.ts';

// biome-ignore lint/suspicious/noExplicitAny: replaying needs no more of an aggregate than its chart, whatever its events.
type AnyAggregate = Aggregate<any, any, any>;

interface Kind {
  readonly aggregate: AnyAggregate;
  readonly table: Table<object, DomainEvent>;
}

/** Which kind of aggregate an id belongs to, by its prefix (contract A.1). */
const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(prefixes).flatMap(([category, prefix]) => {
    const aggregate: AnyAggregate = aggregates[category as Category];
    return prefix === null ? [] : [[prefix, { aggregate, table: compile(aggregate) }]];
  }),
);

/** The id names nothing, or nothing that has a history. */
export class NoHistory extends Error {
  override readonly name = 'NoHistory';
}

/** The id is none that could name anything. */
export class NotAnId extends NoHistory {}

const kindOf = (id: string): Kind => {
  const kind = kinds.get(id.slice(0, Math.max(0, id.indexOf('_'))));
  if (!kind) {
    const prefixes = [...kinds.keys()].map((known) => `${known}_`);
    throw new NotAnId(
      `${id} is not the id of an organization, project, key, policy or OAuth client (${prefixes.join(', ')}).`,
    );
  }
  return kind;
};

/** @throws NotAnId where an id could name nothing */
export const checkId = (id: string): void => void kindOf(id);

/** A moment of an aggregate's life: a revision, or a time in milliseconds. Both inclusive. */
export type Moment = { readonly revision: number } | { readonly time: number };

export interface StateAt {
  readonly id: string;
  readonly revision: number;
  /** Time of the last event that the state includes, in milliseconds. */
  readonly at: number;
  /** In the words of its resource. */
  readonly state: State<unknown>;
}

/** One event of an aggregate's life, and what it left behind. */
export interface Step extends StateAt {
  readonly event: Recorded;
}

/** All that the stream of one aggregate holds. */
export interface Replay {
  /** Those that are ours, oldest first. */
  readonly events: readonly Recorded[];
  /** Each of them with the state that it led to, replayed by the law itself, up to the first that the law cannot have admitted. */
  readonly life: readonly Step[];
  /** That event, and why; null where there is none. Of what is behind it nothing can be told. */
  readonly corrupt: CorruptStream | null;
}

/** @throws NoHistory */
export const replayOf = async (store: EventStore, id: string, options: CallOptions = {}): Promise<Replay> => {
  const { aggregate, table } = kindOf(id);
  const events: Recorded[] = [];
  const life: Step[] = [];
  let corrupt: CorruptStream | null = null;
  let state: State<object> = table.initial;
  for await (const event of store.read(`${aggregate.category}-${id}`, options)) {
    if (whose(event) !== 'ours') continue;
    corrupt ??= corruptionOf(() => {
      checkLink(event, events.at(-1) ?? null);
      state = table.step(state, upcast(aggregate, event));
      const shown = shownState(aggregate.category, state);
      life.push({ id, revision: event.revision, at: event.metadata.at, state: shown, event });
    }, event);
    events.push(event);
  }
  if (events.length === 0) throw new NoHistory(`There is no ${id} in this store.`);
  return { events, life, corrupt };
};

const corruptionOf = (replay: () => void, { stream, revision, type }: Recorded): CorruptStream | null => {
  try {
    replay();
    return null;
  } catch (error) {
    if (error instanceof CorruptStream) return error;
    if (error instanceof IllegalEvent) return new CorruptStream(stream, revision, type, error.message, error);
    throw error;
  }
};

/** How many of the steps had been taken at a moment: those before the first that came later. */
export const takenBy = (life: readonly Step[], moment: Moment): number => {
  const later =
    'revision' in moment
      ? life.findIndex(({ revision }) => revision > moment.revision)
      : life.findIndex(({ at }) => at > moment.time);
  return later < 0 ? life.length : later;
};

/** The state after the events up to a moment; without a moment, after all. @throws NoHistory when it did not exist then, or has not come so far */
export const standingAt = (life: readonly Step[], moment?: Moment): Step => {
  const newest = life.at(-1);
  // A date without its dashes is such a number, and what it was last is not the answer.
  if (newest && moment && 'revision' in moment && moment.revision > newest.revision)
    throw new NoHistory(`${newest.id} has no revision ${moment.revision}: its last is ${newest.revision}.`);
  const last = life[(moment === undefined ? life.length : takenBy(life, moment)) - 1];
  if (!last) throw new NoHistory(`${life[0]?.id} did not exist then.`);
  return last;
};
