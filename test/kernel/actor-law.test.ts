// Lane: middle: it runs at length
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../../projections/recorded.ts';
import { genesis, record, type Snapshot, stateOf } from '../../src/kernel/aggregate/aggregate.ts';
import { type ActorOptions, actors, type Context } from '../../src/kernel/commands/actor.ts';
import type { CommandResult } from '../../src/kernel/commands/command.ts';
import { type EventStore, type Metadata, type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { type Fault, type MemoryStore, memoryStore } from '../support/memory-store.ts';
import { type Ticket, type TicketEvent, ticket } from './ticket.ts';

/** What one command asks for; the events of the command number n carry its id, `cmd_n`. */
interface Plan {
  readonly id: 'tic_1' | 'tic_2';
  readonly command: 'open' | 'work' | 'park' | 'resume' | 'top';
  readonly events: number;
}

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  id: fc.constantFrom('tic_1', 'tic_2'),
  command: fc.constantFrom('open', 'work', 'work', 'work', 'park', 'resume', 'top'),
  events: fc.integer({ min: 1, max: 3 }),
});

const anyFault = fc.oneof(
  { weight: 6, arbitrary: fc.constant('none' as const) },
  { weight: 4, arbitrary: fc.constantFrom('lost', 'answer-lost', 'late', 'conflict-after-landing', 'rival' as const) },
);

interface Outcome {
  readonly plan: Plan;
  readonly commandId: string;
  readonly told: CommandResult<Ticket, TicketEvent> | undefined;
  readonly error: unknown;
  readonly isRepeated: boolean;
}

const foldOf = (events: readonly Recorded[]): Snapshot =>
  events.reduce((at, recorded) => record(ticket.machine, at, eventOf(recorded)), genesis(ticket.machine));

/** A rival writes what the chart admits there, or leaves it. */
const rivalFor = (store: MemoryStore, stream: string, hours: number): Fault => {
  const event = { type: 'ticket.worked', hours };
  const at = foldOf(store.log.filter((recorded) => recorded.stream === stream));
  if (!at.can(event)) return 'none';
  const metadata = { at: 0 } as Metadata;
  return { rival: [{ id: randomUUID(), type: event.type, data: { hours }, metadata }] };
};

/** Runs the plans, all told at once, in an order and with faults that fast-check chooses. */
const play = async (
  s: fc.Scheduler,
  plans: readonly Plan[],
  faults: readonly string[],
  options: Partial<ActorOptions>,
) => {
  const coming = [...faults];
  let rivals = 0;
  const store: MemoryStore = memoryStore({
    delay: (label) => s.schedule(Promise.resolve(), label).then(() => {}),
    random: () => 0.5,
    fault: (stream) => {
      const fault = coming.shift() ?? 'none';
      return fault === 'rival' ? rivalFor(store, stream, 1_000 * ++rivals) : (fault as Fault);
    },
  });
  let mostAtOnce = 0;
  const atWork = new Map<string, number>();
  const watched: EventStore = {
    ...store,
    async append(stream, events, expected) {
      const now = (atWork.get(stream) ?? 0) + 1;
      atWork.set(stream, now);
      mostAtOnce = Math.max(mostAtOnce, now);
      return store.append(stream, events, expected).finally(() => atWork.set(stream, (atWork.get(stream) ?? 0) - 1));
    },
  };
  const tickets = actors(ticket, { store: watched, ...options });
  const told = plans.map(async (plan, number): Promise<Outcome> => {
    const commandId = `cmd_${number}`;
    const hours = Array.from({ length: plan.events }, (_, index) => number * 10 + index);
    const input = { title: 't', hours, upTo: number * 7 };
    const context: Context = { actor: { type: 'system', id: 'w' }, commandId };
    let error: unknown;
    for (let repeats = 0; repeats < 3; repeats++) {
      const isRepeated = repeats > 0;
      try {
        const answer = await tickets.dispatch(plan.id, plan.command as 'work', input, context);
        return { plan, commandId, told: answer, error: undefined, isRepeated };
      } catch (refusal) {
        error = refusal;
      }
      // Whoever does not know the outcome sends the same command again.
      if (!(error instanceof StoreUnavailable)) return { plan, commandId, told: undefined, error, isRepeated };
    }
    return { plan, commandId, told: undefined, error, isRepeated: true };
  });
  const outcomes = await s.waitFor(Promise.all(told));
  await s.waitIdle();
  return { store, outcomes, mostAtOnce };
};

/** What must hold, whatever the store did. */
const check = ({ store, outcomes, mostAtOnce }: Awaited<ReturnType<typeof play>>): void => {
  expect(mostAtOnce).toBeLessThanOrEqual(1);
  for (const id of ['tic_1', 'tic_2']) {
    const events = store.log.filter(({ stream }) => stream === `ticket-${id}`);
    expect(events.map(({ revision }) => revision)).toEqual(events.map((_, index) => index));
    // Throws where the chart does not admit what is there.
    foldOf(events);
    const own = outcomes.filter(({ plan }) => plan.id === id);
    let lastRevision = -1;
    for (const { plan, commandId, told, error, isRepeated } of own) {
      const there = events.filter(({ metadata }) => metadata.$causationId === commandId);
      const inFull = plan.command === 'work' ? plan.events : 1;
      expect([0, inFull]).toContain(there.length);
      if (told && told.position !== null) {
        const upTo = events.slice(0, told.revision! + 1);
        expect(told.state).toEqual(stateOf(foldOf(upTo)));
        expect(upTo.some(({ position }) => position === told.position)).toBe(true);
        expect(there.map(eventOf)).toEqual(told.events);
        expect(there.at(-1)!.revision - there[0]!.revision).toBe(there.length - 1);
        // Answers come in the order the commands were told, each further along the stream.
        if (!isRepeated) expect(told.revision!).toBeGreaterThan(lastRevision);
        if (!isRepeated) lastRevision = told.revision!;
      } else if (!isRepeated) {
        expect(there).toEqual([]);
      } else if (!told && !(error instanceof StoreUnavailable)) {
        // Refused although an earlier attempt landed: only what the decision itself judges anew, and none does here.
        expect(there).toEqual([]);
      }
    }
  }
};

const law = (options: Partial<ActorOptions> = {}) =>
  fc.asyncProperty(
    fc.scheduler(),
    fc.array(anyPlan, { minLength: 1, maxLength: 14 }),
    fc.array(anyFault, { maxLength: 20 }),
    async (s, plans, faults) => {
      const opening: Plan[] = [
        { id: 'tic_1', command: 'open', events: 1 },
        { id: 'tic_2', command: 'open', events: 1 },
      ];
      check(await play(s, [...opening, ...plans], faults, options));
    },
  );

/** Histories in one run of the suite; a release runs a million (the torture D13). */
const runs = Number(process.env.LAW_RUNS ?? 400);

describe('actors, in any order of events and with any faults of the store', () => {
  test('keep what they acknowledged, once and in order, one command at a time', async () => {
    await fc.assert(law(), { numRuns: runs });
  }, 600_000);

  test('keep it too when they are forgotten as soon as they are idle', async () => {
    await fc.assert(law({ maxLive: 0 }), { numRuns: 300 });
  });
});

describe('canary: the law is broken', () => {
  test('without the mailbox', async () => {
    const outcome = await fc.check(law({ mailbox: () => (task) => task() }), { numRuns: 300, endOnFailure: true });
    // Two at once, or answers out of order, whichever comes first.
    expect(outcome.failed).toBe(true);
  });

  test('without ids that a repeat can be told by', async () => {
    const outcome = await fc.check(law({ eventId: () => randomUUID() }), { numRuns: 1000, endOnFailure: true });
    // Repeats are refused or written twice, whichever comes first.
    expect(outcome.failed).toBe(true);
  });
});
