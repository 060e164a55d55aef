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

/** By version and event type, turns that version's data into the next version's. Unlisted events have not changed. */
export type Upcasts = Readonly<Record<number, Readonly<Record<string, (data: Data) => Data>>>>;

/** A flat event with a dotted type in the past tense; both the chart's event and the event on the stream. */
export interface DomainEvent {
  readonly type: string;
}

/** How each event changes the data, by type. An event of the union without an entry does not compile. */
export type Changes<D, F extends DomainEvent> = {
  readonly [T in F['type']]: (data: D, event: Extract<F, { readonly type: T }>) => D;
};

// biome-ignore lint/suspicious/noExplicitAny: each has states and an input of its own; `CommandInput` gets the input back out.
type Decide<D, F> = (state: State<D, any>, input: any) => readonly F[];
export type Decisions<D, F extends DomainEvent> = Readonly<Record<string, Decide<D, F>>>;

export interface Aggregate<D extends object, F extends DomainEvent, C extends Decisions<D, F>> {
  /** First part of the stream's name, camelCase and without a dash. */
  readonly category: string;
  /** Flat chart from `absent`; its only action is `apply`, its context is the aggregate's data. */
  readonly machine: AnyStateMachine;
  readonly apply: Changes<D, F>;
  readonly decide: C;
  /** Version of the events' shapes, written into each event's metadata. */
  readonly version: number;
  readonly upcasts?: Upcasts;
}

export interface State<D, S extends string = string> {
  readonly status: S;
  readonly data: D;
}

/** The same, limited to the states of one chart. */
export type StateOf<M extends AnyStateMachine> = State<ContextFrom<M>, Extract<StateValueFrom<M>, string>>;

export const applied = <D, F extends DomainEvent>(changes: Changes<D, F>, data: D, event: F): D => {
  const change = changes[event.type as F['type']] as (data: D, event: F) => D;
  return change(data, event);
};

/** Starts a chart whose context is the data and whose only action is `apply`. */
export const chartOf = <D extends MachineContext, F extends DomainEvent>(changes: Changes<D, F>) =>
  setup({
    types: {} as { context: D; events: F },
    actions: { apply: assign(({ context, event }) => applied(changes, context, event)) },
  });

/** The chart does not admit the event in this state. On a stream this means corruption. */
export class IllegalEvent extends Error {
  override readonly name = 'IllegalEvent';
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

export type Snapshot = AnyMachineSnapshot;

export const genesis = (machine: AnyStateMachine): Snapshot => initialTransition(machine)[0];

/** Accepts a new event. @throws IllegalEvent when the chart does not admit it */
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
