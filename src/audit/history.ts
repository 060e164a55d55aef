import { aggregates, type Category } from '../domain/aggregates.ts';
import { policyState } from '../domain/policy/policy.ts';
import type { Policy } from '../domain/policy/policy-events.ts';
import { fieldsOf } from '../domain/policy/policy-terms.ts';
import { prefixes, whose } from '../domain/streams.ts';
import { type Aggregate, type DomainEvent, IllegalEvent, type State } from '../kernel/aggregate/aggregate.ts';
import { compile, type Table } from '../kernel/aggregate/chart.ts';
import { CorruptStream, checkLink } from '../kernel/aggregate/fold.ts';
import { upcast } from '../kernel/aggregate/upcast.ts';
import type { CallOptions, EventStore, Recorded } from '../kernel/store/store.ts';

// biome-ignore lint/suspicious/noExplicitAny: replaying needs no more of an aggregate than its chart, whatever its events.
type AnyAggregate = Aggregate<any, any, any>;

interface Kind {
  readonly aggregate: AnyAggregate;
  readonly table: Table<object, DomainEvent>;
}

/** By prefix of the id (contract A.1). */
const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(prefixes).flatMap(([category, prefix]) => {
    const aggregate: AnyAggregate = aggregates[category as Category];
    return prefix === null ? [] : [[prefix, { aggregate, table: compile(aggregate) }]];
  }),
);

export class NoHistory extends Error {
  override readonly name = 'NoHistory';
}

/** The id has none of the known prefixes. */
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

/** @throws NotAnId */
export const checkId = (id: string): void => void kindOf(id);

/** A revision, or a time in milliseconds. Both inclusive. */
export type Moment = { readonly revision: number } | { readonly time: number };

export interface StateAt {
  readonly id: string;
  readonly revision: number;
  readonly at: number;
  /** With the names and values of the resource. */
  readonly state: State<unknown>;
}

export interface Step extends StateAt {
  readonly event: Recorded;
}

export interface Replay {
  /** Those of Weir, oldest first. */
  readonly events: readonly Recorded[];
  /** Each event with the state after it, up to the first corrupt one. */
  readonly life: readonly Step[];
  /** The first event that the chart does not admit or whose link is wrong; nothing is known of the state after it. */
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
      const shown = aggregate.category === 'policy' ? shownPolicy(state as State<Policy>) : state;
      life.push({ id, revision: event.revision, at: event.metadata.at, state: shown, event });
    }, event);
    events.push(event);
  }
  if (events.length === 0) throw new NoHistory(`There is no ${id} in this store.`);
  return { events, life, corrupt };
};

/** The states and fields of a policy's resource (contract B.5, C.7) differ from those of its aggregate. */
const shownPolicy = (state: State<Policy>): State<object> => {
  const { draft, current, pausedRevision: _, ...rest } = state.data;
  const published = current && {
    id: current.id,
    version: current.version,
    ...fieldsOf(current),
    publishedAt: current.publishedAt,
  };
  const status = state.status === 'live' ? policyState(state) : state.status;
  return { status, data: { ...rest, draft: fieldsOf(draft), published } };
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

export const takenBy = (life: readonly Step[], moment: Moment): number => {
  const later =
    'revision' in moment
      ? life.findIndex(({ revision }) => revision > moment.revision)
      : life.findIndex(({ at }) => at > moment.time);
  return later < 0 ? life.length : later;
};

/** By default the last. @throws NoHistory if it did not exist then, or has not reached that revision */
export const standingAt = (life: readonly Step[], moment?: Moment): Step => {
  const newest = life.at(-1);
  // A date without dashes parses as such a revision.
  if (newest && moment && 'revision' in moment && moment.revision > newest.revision)
    throw new NoHistory(`${newest.id} has no revision ${moment.revision}: its last is ${newest.revision}.`);
  const last = life[(moment === undefined ? life.length : takenBy(life, moment)) - 1];
  if (!last) throw new NoHistory(`${life[0]?.id} did not exist then.`);
  return last;
};
