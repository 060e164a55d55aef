import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../clock.ts';
import type { Aggregate, Decisions, DomainEvent } from '../aggregate/aggregate.ts';
import { idleCache } from '../aggregate/idle-cache.ts';
import { type Mailbox, serial } from '../mailbox.ts';
import { Budget } from '../store/budget.ts';
import { type EventId, eventId } from '../store/event-id.ts';
import type { Whose } from '../store/ownership.ts';
import { type Actor, type EventStore, type Metadata, StoreUnavailable } from '../store/store.ts';
import { type CommandResult, execute, type Memory } from './command.ts';

/** Where a command comes from; becomes the metadata of its events. */
export interface Context {
  readonly actor: Actor;
  readonly requestId?: string | undefined;
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
  /** The same id never writes the same events twice to a stream. Default: random. */
  readonly commandId?: string | undefined;
  /** The event that caused this command, where a reactor sent it. */
  readonly causationId?: string | undefined;
  readonly correlationId?: string | undefined;
  /** Shared by all commands of one request. Default: one of its own. */
  readonly budget?: Budget | undefined;
}

export type CommandInput<C, K extends keyof C> = C[K] extends (state: never, input: infer I) => unknown ? I : never;

export interface Actors<D extends object, F extends DomainEvent, C extends Decisions<D, F>> {
  /**
   * @throws IllegalEvent when the chart does not admit the decided event; and whatever the decision throws
   * @throws StoreUnavailable when the store did not answer in time; the events may be on the stream or not
   * @throws WrongRevision when other writers were first at every attempt
   * @throws CorruptStream
   */
  dispatch<K extends keyof C & string>(
    id: string,
    command: K,
    input: CommandInput<C, K>,
    context: Context,
  ): Promise<CommandResult<D, F>>;
  /** Forgets all folded streams, because another log is in their place. */
  forget(): void;
}

export interface ActorOptions {
  readonly store: EventStore;
  readonly clock?: Clock;
  readonly whose?: Whose;
  /** An aggregate without a command for this long is forgotten; default five minutes. */
  readonly idleMs?: number;
  /** Idle aggregates that are kept; default 2,000. */
  readonly maxLive?: number;
  /** Replaced by tests, which show that both are needed. */
  readonly mailbox?: () => Mailbox;
  readonly eventId?: EventId;
}

/** One dash, between category and id (`$by_category` splits at it); ASCII, because gRPC trailers are. */
const streamName = /^[a-z][A-Za-z0-9]*-[\x21-\x2c\x2e-\x7e]+$/;

const metadataOf = (context: Context, commandId: string, at: number, v: number): Metadata => ({
  at,
  actor: context.actor,
  ...(context.requestId !== undefined && { request_id: context.requestId }),
  ...(context.ip !== undefined && { ip: context.ip }),
  ...(context.userAgent !== undefined && { user_agent: context.userAgent }),
  $correlationId: context.correlationId ?? context.requestId ?? commandId,
  $causationId: context.causationId ?? commandId,
  v,
});

export const actors = <D extends object, F extends DomainEvent, C extends Decisions<D, F>>(
  aggregate: Aggregate<D, F, C>,
  options: ActorOptions,
): Actors<D, F, C> => {
  const { store, clock = systemClock, mailbox = serial } = options;
  const { whose = () => 'ours' } = options;
  const tools = { store, eventId: options.eventId ?? eventId, whose };
  const actorsAlive = idleCache<Memory & { readonly mailbox: Mailbox }>({
    make: () => ({ replay: undefined, goesOn: false, mailbox: mailbox() }),
    clock,
    idleMs: options.idleMs ?? 300_000,
    max: options.maxLive ?? 2_000,
  });

  return {
    forget() {
      for (const actor of actorsAlive.values()) actor.replay = undefined;
    },
    dispatch(id, name, input, context) {
      const stream = `${aggregate.category}-${id}`;
      if (!streamName.test(stream)) return Promise.reject(new TypeError(`not the name of a stream: ${stream}`));
      const commandId = context.commandId ?? randomUUID();
      const { budget } = context;
      const until = (budget ?? new Budget()).until(clock);
      return actorsAlive.use(stream, (actor) =>
        actor.mailbox(async () => {
          if (clock.monotonic() >= until) throw new StoreUnavailable(`${stream} is busy`);
          const metadata = metadataOf(context, commandId, clock.wall(), aggregate.version);
          const isShared = context.commandId !== undefined;
          const command = { stream, name, input, commandId, isShared, requestId: context.requestId, metadata, budget };
          return execute(aggregate, tools, actor, command);
        }),
      );
    },
  };
};
