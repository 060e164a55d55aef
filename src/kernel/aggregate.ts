import { type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';

/** What happened: a machine event, flat, dotted and in the past tense. It *is* the domain event on the stream. */
export interface Fact {
  readonly type: string;
}

/** Judgement: which facts a command leads to. Reads the data, never the lifecycle state, which is the chart's business. */
// biome-ignore lint/suspicious/noExplicitAny: each decision has an input of its own; `CommandInput` gets it back out.
export type Decisions<D, F extends Fact> = Readonly<Record<string, (data: D, input: any) => readonly F[]>>;

/** The law of one kind of stream: a chart that admits facts, and decisions that propose them. */
export interface Aggregate<D extends object, F extends Fact, C extends Decisions<D, F>> {
  /** First part of the stream's name, camelCase and without a dash. */
  readonly category: string;
  /** Flat chart from `absent`; its only action is `apply`, its context is the aggregate's data. */
  readonly machine: AnyStateMachine;
  /** What each fact changes. The chart's `apply` action calls it. */
  readonly apply: (data: D, fact: F) => D;
  readonly decide: C;
  /** Version of the facts' shapes, written into every event's metadata. */
  readonly version: number;
}

/** Where an aggregate stands: the chart's state and the data that the facts left behind. */
export interface State<D> {
  readonly status: string;
  readonly data: D;
}

/** The chart does not admit the fact where the aggregate stands. On a stream it means corruption. */
export class IllegalFact extends Error {
  override readonly name = 'IllegalFact';
  readonly status: string;
  readonly fact: string;
  constructor(machine: string, status: string, fact: string) {
    super(`${machine} is ${status} and does not admit ${fact}`);
    this.status = status;
    this.fact = fact;
  }
}

/** A snapshot of the chart, opaque to everybody but this file. */
export type Snapshot = AnyMachineSnapshot;

const scopes = new WeakMap<AnyStateMachine, AnyActorScope>();

/** One scope per machine: XState's own `transition()` makes an actor per call, which is four times the cost (measured). */
const inertScope = (machine: AnyStateMachine): AnyActorScope => {
  const known = scopes.get(machine);
  if (known) return known;
  const self = createActor(machine);
  const nothing = () => {};
  const scope: AnyActorScope = {
    self,
    system: self.system,
    id: machine.id,
    sessionId: machine.id,
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  };
  scopes.set(machine, scope);
  return scope;
};

/** The snapshot before the first fact. */
export const genesis = (machine: AnyStateMachine): Snapshot =>
  machine.getInitialSnapshot(inertScope(machine), undefined);

/**
 * Accepts what is new. History is replayed with the chart's table, which equals this (chart.ts), so what was accepted can
 * always be replayed.
 * @throws IllegalFact when the chart does not admit the fact
 */
export const record = (machine: AnyStateMachine, snapshot: Snapshot, fact: Fact): Snapshot => {
  if (snapshot.status !== 'active' || !snapshot.can(fact)) {
    throw new IllegalFact(machine.id, String(snapshot.value), fact.type);
  }
  return machine.transition(snapshot, fact, inertScope(machine));
};

export const stateOf = <D>(snapshot: Snapshot): State<D> => ({
  status: String(snapshot.value),
  data: snapshot.context as D,
});
