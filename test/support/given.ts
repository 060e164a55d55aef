import { expect } from 'vitest';
import {
  type Aggregate,
  type Decisions,
  type DomainEvent,
  genesis,
  record,
  type Snapshot,
  type State,
  stateOf,
} from '../../src/kernel/aggregate/aggregate.ts';
import type { CommandInput } from '../../src/kernel/commands/actor.ts';

/** What an error is compared with: its class, a part of its message, or some of its properties. */
export type ErrorMatcher =
  | (abstract new (
      ...args: never[]
    ) => Error)
  | RegExp
  | string
  | Readonly<Record<string, unknown>>;

interface Outcome<D, F extends DomainEvent> {
  /** The command leads to exactly these events, and the chart admits them. */
  then(events: readonly F[]): Outcome<D, F>;
  /** Where the aggregate stands afterwards. */
  leaves(state: Partial<{ status: string; data: Partial<D> }>): Outcome<D, F>;
  /** The decision or the chart refuses. */
  refuses(error: ErrorMatcher): void;
}

const matches = (error: unknown, expected: ErrorMatcher): void => {
  if (typeof expected === 'function') expect(error).toBeInstanceOf(expected);
  else if (expected instanceof RegExp) expect((error as Error).message).toMatch(expected);
  else if (typeof expected === 'string') expect((error as Error).message).toContain(expected);
  else expect(error).toMatchObject(expected);
};

/**
 * Tells what a command leads to after a history: `given(project, [created]).when('archive', input).then([archived])`.
 * The history goes through the chart as well, so an impossible one fails the test.
 */
export const given = <D extends object, F extends DomainEvent, C extends Decisions<D, F>>(
  aggregate: Aggregate<D, F, C>,
  history: readonly NoInfer<F>[],
) => {
  const fold = (from: Snapshot, events: readonly F[]) =>
    events.reduce((at, event) => record(aggregate.machine, at, event), from);
  const before = fold(genesis(aggregate.machine), history);
  return {
    state: stateOf<D>(before),
    when<K extends keyof C & string>(command: K, input: CommandInput<C, K>): Outcome<D, F> {
      let events: readonly F[] = [];
      let after: State<D> | undefined;
      let refusal: unknown;
      try {
        events = aggregate.decide[command]!(stateOf<D>(before), input);
        after = stateOf<D>(fold(before, events));
      } catch (error) {
        refusal = error;
      }
      const outcome: Outcome<D, F> = {
        // biome-ignore lint/suspicious/noThenProperty: given–when–then; awaiting it by mistake fails, since no event is a function.
        then(expected) {
          if (refusal) throw refusal;
          expect(events).toEqual(expected);
          return outcome;
        },
        leaves(expected) {
          if (refusal) throw refusal;
          expect(after).toMatchObject(expected);
          return outcome;
        },
        refuses(expected) {
          if (!refusal) expect.fail(`${command} was not refused and led to ${JSON.stringify(events)}`);
          matches(refusal, expected);
        },
      };
      return outcome;
    },
  };
};
