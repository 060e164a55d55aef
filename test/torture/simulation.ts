import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { projections } from '../../projections/all.ts';
import type { Aggregates } from '../../src/admin/command.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import type { Clock } from '../../src/clock.ts';
import type { DomainEvent } from '../../src/kernel/aggregate/aggregate.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import type { CommandResult } from '../../src/kernel/commands/command.ts';
import { type EventId, eventId } from '../../src/kernel/store/event-id.ts';
import { type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { memoryModels } from '../support/memory-models.ts';
import { type Fault, type MemoryStore, memoryStore } from '../support/memory-store.ts';
import { dump, tellSomething } from './commands.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { type Random, seeded } from './random.ts';
import { type Asked, breaches } from './simulation-law.ts';

const CLIENTS = 5;
const COMMANDS_EACH = 25;
const PROCESSES = 2;
const TRIES = 3;
const HOUR = 3_600_000;
/** Every so many histories one is run again, to the same end. */
const AGAIN = 10;

const faults: readonly Fault[] = [
  'none',
  'none',
  'none',
  'none',
  'lost',
  'answer-lost',
  'late',
  'conflict-after-landing',
];

/** How one history went. */
interface Played {
  readonly log: readonly Recorded[];
  readonly breaches: readonly string[];
  /** The same for the same seed, or something in it does not come from the seed. */
  readonly digest: string;
  /** Everything that chance did, in words. */
  readonly plan: readonly string[];
}

/** Everything that waits, taken up one by one in the order that chance decides. */
class Scheduler {
  private readonly waiting: { readonly label: string; readonly go: () => void }[] = [];

  readonly delay = (label: string): Promise<void> => new Promise((go) => this.waiting.push({ label, go }));

  get isIdle(): boolean {
    return this.waiting.length === 0;
  }

  next(random: Random): string {
    const [{ label, go }] = this.waiting.splice(random.between(0, this.waiting.length - 1), 1) as [
      (typeof this.waiting)[number],
    ];
    go();
    return label;
  }
}

/** Passes every command on under an id of its own, repeats it while its outcome is unknown, and notes what came of it. */
const watched = (all: () => Aggregates, asked: Asked[], step: () => number): Aggregates => {
  const kinds = Object.keys(all()) as (keyof Aggregates)[];
  const tell = async (kind: keyof Aggregates, id: string, command: string, input: unknown, context: Context) => {
    const one: Asked = { commandId: `command ${asked.length}`, stream: `${kind}-${id}`, asked: step(), tries: 0 };
    asked.push(one);
    for (;;) {
      one.tries++;
      try {
        const actors = all()[kind] as { dispatch(...args: unknown[]): Promise<CommandResult<unknown, DomainEvent>> };
        one.told = await actors.dispatch(id, command, input, { ...context, commandId: one.commandId });
        one.answered = step();
        return one.told;
      } catch (error) {
        one.error = error as Error;
        if (!(error instanceof StoreUnavailable) || one.tries === TRIES) throw error;
      }
    }
  };
  const entries = kinds.map((kind) => [
    kind,
    {
      dispatch: (id: string, command: string, input: unknown, context: Context) =>
        tell(kind, id, command, input, context),
    },
  ]);
  return Object.fromEntries(entries) as Aggregates;
};

/** Ids that no repetition can be told by. */
const unlike =
  (random: Random): EventId =>
  () =>
    `${random.between(0, 2 ** 31)}-${random.between(0, 2 ** 31)}`;

/** One history: clients of two processes over one store in memory, and whatever the seed has in store for them. */
const play = async (seed: number, history: number, canary = false): Promise<Played> => {
  const random = seeded(seed, history);
  const scheduler = new Scheduler();
  const plan: string[] = [];
  const time = { wall: 1_700_000_000_000, monotonic: 0 };
  const clock: Clock = { wall: () => time.wall, monotonic: () => time.monotonic };
  const store: MemoryStore = memoryStore({
    delay: scheduler.delay,
    random: random.next,
    fault: (stream) => {
      const fault = random.pick(faults);
      if (fault !== 'none') plan.push(`append to ${stream}: ${fault}`);
      return fault;
    },
  });
  const options = { clock, eventId: canary ? unlike(seeded(seed, history)) : eventId, whose: () => 'ours' as const };
  const processes = Array.from({ length: PROCESSES }, () => allAggregates(store, options));
  const asked: Asked[] = [];
  let steps = 0;
  const live = memoryModels(store, projections);
  let working = CLIENTS;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const home = client % PROCESSES;
    const mine = watched(
      () => processes[home]!,
      asked,
      () => steps,
    );
    for (let n = 0; n < COMMANDS_EACH; n++) {
      await scheduler.delay(`client ${client}`);
      await tellSomething(mine, random);
    }
    working--;
  });
  const upset = (): void => {
    const chance = random.next();
    if (chance < 0.01) {
      const number = random.between(0, PROCESSES - 1);
      processes[number] = allAggregates(store, options);
      plan.push(`step ${steps}: process ${number} forgets everything`);
    } else if (store.available ? chance < 0.015 : chance < 0.1) {
      store.available = !store.available;
      plan.push(`step ${steps}: the store is ${store.available ? 'back' : 'away'}`);
    } else if (chance > 0.98) {
      const by = random.between(-HOUR, 24 * HOUR);
      time.wall += by;
      plan.push(`step ${steps}: the clock jumps by ${by} ms`);
    }
  };
  const found: string[] = [];
  while (working > 0) {
    await turn();
    steps++;
    time.monotonic++;
    time.wall++;
    upset();
    if (!scheduler.isIdle) scheduler.next(random);
    else if (!store.available) store.available = true;
    else if (working > 0 && (await stands(scheduler, () => working))) {
      found.push('nothing moves any more');
      break;
    }
  }
  store.available = true;
  const drain = async () => {
    for (await turn(); !scheduler.isIdle; await turn()) scheduler.next(random);
  };
  await drain();
  const anew = memoryModels(store, projections);
  await drain();
  const rows = dump(live);
  if (live.position !== (store.log.at(-1)?.position ?? null)) found.push(`the live rows are at ${live.position}`);
  if (rows !== dump(anew)) found.push('the rows that followed live are not those built anew');
  found.push(...breaches(store.log, asked));
  if (found.length === 0) await Promise.all(clients);
  await Promise.all([live.close(), anew.close(), store.close()]);
  const answers = asked.map(({ told, error, tries }) => [tries, told?.revision ?? null, error?.message ?? null]);
  const whole = JSON.stringify([store.log, answers, rows, plan], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return { log: store.log, breaches: found, digest: createHash('sha256').update(whole).digest('hex'), plan };
};

/** Whether nothing has come about even after everybody had a turn. */
const stands = async (scheduler: Scheduler, working: () => number): Promise<boolean> => {
  await turn();
  return scheduler.isIdle && working() > 0;
};

/**
 * D13: histories of commands from many clients through actors in two processes over one store in memory. One seed decides
 * the commands, the order of everything that waits, and what goes wrong: appends and answers lost, late or confused,
 * processes that forget, outages, clocks that jump. What was acknowledged is there, once, as it was told; nothing else
 * is; live rows are those built anew; and a history run again is the same. `count` is the number of histories. The canary
 * gives events ids by which no repetition can be told.
 */
export async function torturedByChance({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  let again = 0;
  for (let history = from; history < from + count; history++, figures.cycles++) {
    const played = await play(seed, history, canary);
    figures.acknowledged += played.log.length;
    const name = `cycle ${history}`;
    for (const [i, breach] of played.breaches.entries()) {
      const plan = i === 0 ? `\n    ${played.plan.join('\n    ')}` : '';
      complain(figures, `${name}: ${breach}${plan}`);
    }
    if (history % AGAIN !== 0) continue;
    again++;
    const { digest } = await play(seed, history, canary);
    if (digest !== played.digest) complain(figures, `${name}: run again it goes another way`);
  }
  figures.notes.push(`${again} of them run again, to the same end`);
}
