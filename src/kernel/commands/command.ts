import { publish } from '../../telemetry.ts';
import {
  type Aggregate,
  type Decisions,
  type DomainEvent,
  record,
  type State,
  stateOf,
} from '../aggregate/aggregate.ts';
import { chained } from '../aggregate/chained.ts';
import { advance, blank, catchUp, type FoldedStream, placeOfEvents } from '../aggregate/fold.ts';
import type { Budget } from '../store/budget.ts';
import type { EventId } from '../store/event-id.ts';
import type { Whose } from '../store/ownership.ts';
import { type EventStore, type Metadata, type NewEvent, WrongRevision } from '../store/store.ts';

export interface CommandResult<D, F extends DomainEvent> {
  readonly state: State<D>;
  readonly events: readonly F[];
  readonly revision: number | null;
  /** Position of the last appended event; null when the command changed nothing. */
  readonly position: bigint | null;
  /** Position of the stream's last event; null while it has none. */
  readonly head: bigint | null;
}

/** What an actor remembers of its stream; undefined while that is unknown or uncertain. */
export interface Memory {
  replay: FoldedStream | undefined;
  /** The stream may have events behind `replay` that another process wrote, so it has to be read. */
  goesOn: boolean;
}

export interface Command {
  readonly stream: string;
  readonly name: string;
  readonly input: unknown;
  readonly commandId: string;
  /** Another process may send this command too; only the store knows which of the two wrote the events. */
  readonly isShared: boolean;
  readonly requestId: string | undefined;
  readonly metadata: Metadata;
  readonly budget: Budget | undefined;
}

const attempts = 8;

/**
 * Runs one command, from the decision to the append. The memory may be behind the stream, because other processes write too:
 * the append names the exact revision, and a refusal or a decision without events is repeated after a read.
 */
export const execute = async <D extends object, F extends DomainEvent, C extends Decisions<D, F>>(
  aggregate: Aggregate<D, F, C>,
  { store, eventId, whose }: { readonly store: EventStore; readonly eventId: EventId; readonly whose: Whose },
  memory: Memory,
  command: Command,
): Promise<CommandResult<D, F>> => {
  const { stream, budget } = command;
  let isCurrent = false;

  const look = async (): Promise<FoldedStream> => {
    memory.replay = await catchUp(aggregate, store, stream, memory.replay ?? blank(aggregate.machine), whose, budget);
    memory.goesOn = false;
    isCurrent = true;
    return memory.replay;
  };

  const propose = (from: FoldedStream) => proposal(aggregate, eventId, command, from);

  const proposeFromMemory = (from: FoldedStream) => {
    try {
      const proposed = propose(from);
      return proposed.events.length > 0 ? proposed : undefined;
    } catch {
      return undefined;
    }
  };

  let replay = memory.replay && !memory.goesOn ? memory.replay : await look();
  for (let attempt = 1; ; attempt++) {
    let proposed = isCurrent ? propose(replay) : proposeFromMemory(replay);
    if (!proposed) {
      replay = await look();
      proposed = propose(replay);
    }
    const { events, records, written, snapshot } = proposed;
    if (events.length === 0 || written) return resultOf(replay, events, written?.position ?? null);
    try {
      const appended = await store.append(stream, records, replay.revision ?? 'no_stream', { budget });
      const first = appended.revision - records.length + 1;
      const places = records.map(({ id }, index) => ({ id, revision: first + index, position: appended.position }));
      const now = advance(replay, snapshot, places, records.at(-1) ?? replay.last);
      memory.goesOn = command.isShared;
      memory.replay = command.isShared ? replay : now;
      publish('command.recorded', {
        requestId: command.requestId,
        stream,
        revision: appended.revision,
        events: events.map(({ type }) => type),
      });
      return resultOf(now, events, appended.position);
    } catch (error) {
      if (!(error instanceof WrongRevision)) {
        // Without an answer the events may be on the stream or not: the next command reads it from the start.
        memory.replay = undefined;
        throw error;
      }
      // The stream is shorter than what is remembered: an older copy of the log is in its place.
      if ((error.actual ?? -1) < (replay.revision ?? -1)) memory.replay = undefined;
      replay = await look();
      const landed = placeOfEvents(replay, records);
      if (landed) return resultOf(replay, events, landed.position);
      if (attempt === attempts) throw error;
    }
  }
};

/** The events that a command decides, as records that follow the folded stream, and whether they are there already. */
const proposal = <D extends object, F extends DomainEvent, C extends Decisions<D, F>>(
  { machine, decide }: Aggregate<D, F, C>,
  eventId: EventId,
  { stream, name, input, commandId, metadata }: Command,
  from: FoldedStream,
) => {
  const events = decide[name]!(stateOf<D>(from.snapshot), input);
  const records = chained(
    stream,
    from,
    events.map(({ type, ...data }, index): NewEvent => {
      return { id: eventId(commandId, index, stream, type, data), type, data, metadata };
    }),
  );
  const written = placeOfEvents(from, records);
  const snapshot = written ? from.snapshot : events.reduce((at, event) => record(machine, at, event), from.snapshot);
  return { events, records, written, snapshot };
};

const resultOf = <D, F extends DomainEvent>(
  replay: FoldedStream,
  events: readonly F[],
  position: bigint | null,
): CommandResult<D, F> => ({
  state: stateOf<D>(replay.snapshot),
  events,
  revision: replay.revision,
  position,
  head: replay.position,
});
