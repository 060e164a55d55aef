import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  assign,
  type ContextFrom,
  initialTransition,
  type MachineContext,
  type StateValueFrom,
  setup,
  transition,
} from 'xstate';

type Data = Readonly<Record<string, unknown>>;

/**
 * How events of older versions are read: by version and type, the data of an event of that version as the next version writes
 * it. What is not listed has not changed. Events stay as they were written.
 */
export type Upcasts = Readonly<Record<number, Readonly<Record<string, (data: Data) => Data>>>>;

/** What happened: a machine event, flat, dotted and in the past tense. It *is* the domain event on the stream. */
export interface DomainEvent {
  readonly type: string;
}

/** What each event changes in the data, by the event's type. Without an entry for every event of the union it does not compile. */
export type Changes<D, F extends DomainEvent> = {
  readonly [T in F['type']]: (data: D, event: Extract<F, { readonly type: T }>) => D;
};

/**
 * Judgement: which events a command leads to. Reads where the aggregate stands; whether an event is admitted there is for the
 * chart to say.
 */
// biome-ignore lint/suspicious/noExplicitAny: each has states and an input of its own; `CommandInput` gets the input back out.
type Decide<D, F> = (state: State<D, any>, input: any) => readonly F[];
export type Decisions<D, F extends DomainEvent> = Readonly<Record<string, Decide<D, F>>>;

/** The law of one kind of stream: a chart that admits events, and decisions that propose them. */
export interface Aggregate<D extends object, F extends DomainEvent, C extends Decisions<D, F>> {
  /** First part of the stream's name, camelCase and without a dash. */
  readonly category: string;
  /** Flat chart from `absent`; its only action is `apply`, its context is the aggregate's data. */
  readonly machine: AnyStateMachine;
  readonly apply: Changes<D, F>;
  readonly decide: C;
  /** Version of the events' shapes, written into every event's metadata. */
  readonly version: number;
  /** How events of older versions are read. */
  readonly upcasts?: Upcasts;
}

/** Where an aggregate stands: the chart's state and the data that the events left behind. */
export interface State<D, S extends string = string> {
  readonly status: S;
  readonly data: D;
}

/** The same with the states of one chart: a decision that asks for a state that the chart has not got does not compile. */
export type StateOf<M extends AnyStateMachine> = State<ContextFrom<M>, Extract<StateValueFrom<M>, string>>;

/** The data after an event. */
export const applied = <D, F extends DomainEvent>(changes: Changes<D, F>, data: D, event: F): D => {
  const change = changes[event.type as F['type']] as (data: D, event: F) => D;
  return change(data, event);
};

/** Begins an aggregate's chart: its context is the data, its events are those of the aggregate, and its one action is `apply`. */
export const chartOf = <D extends MachineContext, F extends DomainEvent>(changes: Changes<D, F>) =>
  setup({
    types: {} as { context: D; events: F },
    actions: { apply: assign(({ context, event }) => applied(changes, context, event)) },
  });

/** The chart does not admit the event where the aggregate stands. On a stream it means corruption. */
export class IllegalEvent extends Error {
  override readonly name = 'IllegalEvent';
  /** The kind of aggregate. */
  readonly machine: string;
  readonly status: string;
  readonly event: string;
  constructor(machine: string, status: string, event: string) {
    super(`${machine} is ${status} and does not admit ${event}`);
    this.machine = machine;
    this.status = status;
    this.event = event;
  }
}

/** A snapshot of the chart, opaque to everybody but this file. */
export type Snapshot = AnyMachineSnapshot;

/** The snapshot before the first event. */
export const genesis = (machine: AnyStateMachine): Snapshot => initialTransition(machine)[0];

/**
 * Accepts what is new. History is replayed with the chart's table, which equals this (chart.ts), so what was accepted can
 * always be replayed.
 * @throws IllegalEvent when the chart does not admit the event
 */
export const record = (machine: AnyStateMachine, snapshot: Snapshot, event: DomainEvent): Snapshot => {
  if (snapshot.status !== 'active' || !snapshot.can(event)) {
    throw new IllegalEvent(machine.id, String(snapshot.value), event.type);
  }
  return transition(machine, snapshot, event)[0];
};

export const stateOf = <D>(snapshot: Snapshot): State<D> => ({
  status: String(snapshot.value),
  data: snapshot.context as D,
});
