import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  type Aggregate,
  applied,
  type Decisions,
  type DomainEvent,
  genesis,
  IllegalEvent,
  type State,
  stateOf,
} from './aggregate.ts';

/** The chart as a table: a look-up takes 0.3 µs where an XState transition takes 13. A property test keeps the two equal. */
export interface Table<D, F extends DomainEvent> {
  readonly initial: State<D>;
  /** Every event type that some state admits. */
  readonly events: ReadonlySet<string>;
  /** @throws IllegalEvent */
  step(state: State<D>, event: F): State<D>;
  /** The state after an event of this type, or undefined where it is not admitted. */
  next(status: string, event: string): string | undefined;
}

const transitionsOf = (node: AnyStateNode): [string, AnyTransitionDefinition][] =>
  [...node.transitions].map(([type, [first]]) => [type, first as AnyTransitionDefinition]);

const refuse = (machine: AnyStateMachine, what: string): never => {
  throw new Error(`chart ${machine.id}: ${what}`);
};

/** Whether a state has something that runs without an event. */
const actsAlone = (node: AnyStateNode): boolean =>
  [node.always, node.after, node.invoke, node.entry, node.exit].some((list) => list !== undefined && list.length > 0);

const check = (machine: AnyStateMachine): void => {
  const { root } = machine;
  if (root.type !== 'compound') refuse(machine, 'it needs states, one at a time');
  if (root.transitions.size > 0) refuse(machine, 'a transition at the root still fires after a final state');
  if (actsAlone(root)) refuse(machine, 'it acts by itself');
  if (root.initial.target[0]?.key !== 'absent') refuse(machine, 'the first state is absent');
  if (root.initial.actions.length > 0) refuse(machine, 'it acts before the first event');
  for (const [name, node] of Object.entries(root.states)) {
    if (node.type !== 'atomic' && node.type !== 'final') refuse(machine, `${name} is not a simple state`);
    if (actsAlone(node)) refuse(machine, `${name} acts by itself`);
    for (const [type, candidates] of node.transitions) {
      const [only] = candidates;
      if (type.includes('*')) refuse(machine, `${type} in ${name} is a wildcard`);
      if (candidates.length !== 1 || only?.guard) refuse(machine, `${type} in ${name} has a guard or an alternative`);
      if (only?.actions.length !== 1 || actionName(only) !== 'apply') refuse(machine, `${type} in ${name} must apply`);
    }
  }
};

const actionName = (transition: AnyTransitionDefinition): unknown => {
  const [action] = transition.actions as readonly unknown[];
  return typeof action === 'object' && action !== null && 'type' in action ? action.type : action;
};

/** Builds the table. @throws Error when the chart has more than a lifecycle */
export const compile = <D extends object, F extends DomainEvent>(
  aggregate: Aggregate<D, F, Decisions<D, F>>,
): Table<D, F> => {
  const { machine, apply } = aggregate;
  check(machine);
  const states = new Map<string, Map<string, string>>();
  const events = new Set<string>();
  for (const [name, node] of Object.entries(machine.root.states)) {
    const row = new Map<string, string>();
    for (const [type, transition] of transitionsOf(node)) {
      row.set(type, transition.target?.[0]?.key ?? name);
      events.add(type);
    }
    states.set(name, row);
  }
  for (const type of events) if (!Object.hasOwn(apply, type)) refuse(machine, `nothing applies ${type}`);
  for (const type of Object.keys(apply)) if (!events.has(type)) refuse(machine, `no state admits ${type}`);
  const next = (status: string, event: string) => states.get(status)?.get(event);
  return {
    initial: stateOf<D>(genesis(machine)),
    events,
    next,
    step(state, event) {
      const status = next(state.status, event.type);
      if (status === undefined) throw new IllegalEvent(machine.id, state.status, event.type);
      return { status, data: applied(apply, state.data, event) };
    },
  };
};

/** The chart as a mermaid state diagram, transitions in the order of the chart. */
export const mermaid = (machine: AnyStateMachine): string => {
  const lines = ['stateDiagram-v2', '  [*] --> absent'];
  for (const [name, node] of Object.entries(machine.root.states)) {
    for (const [type, transition] of transitionsOf(node)) {
      lines.push(`  ${name} --> ${transition.target?.[0]?.key ?? name}: ${type}`);
    }
    if (node.type === 'final') lines.push(`  ${name} --> [*]`);
  }
  return lines.join('\n');
};
