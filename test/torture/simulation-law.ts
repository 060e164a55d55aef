import canonicalize from 'canonicalize';
import { eventOf } from '../../projections/recorded.ts';
import {
  type DomainEvent,
  genesis,
  IllegalEvent,
  record,
  type Snapshot,
  stateOf,
} from '../../src/kernel/aggregate/aggregate.ts';
import type { CommandResult } from '../../src/kernel/commands/command.ts';
import { type Recorded, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { aggregates } from '../support/all-aggregates.ts';

/** One command, and what its sender knows of it. */
export interface Asked {
  readonly commandId: string;
  readonly stream: string;
  /** The step of the simulation in which it was sent. */
  readonly asked: number;
  tries: number;
  told?: CommandResult<unknown, DomainEvent>;
  answered?: number;
  error?: Error;
}

/** What is wrong with a log, against what the senders of commands were told. */
export function breaches(log: readonly Recorded[], asked: readonly Asked[]): string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  const streams = new Map<string, Recorded[]>();
  const byCommand = new Map<string, Recorded[]>();
  const into = (map: Map<string, Recorded[]>, key: string, event: Recorded) => {
    const own = map.get(key);
    if (own === undefined) map.set(key, [event]);
    else own.push(event);
  };
  for (const event of log) {
    if (ids.has(event.id)) found.push(`${event.id} is there twice`);
    ids.add(event.id);
    into(streams, event.stream, event);
    into(byCommand, `${event.metadata.$causationId} on ${event.stream}`, event);
  }
  const states = new Map<string, Snapshot[]>();
  for (const [name, events] of streams) states.set(name, fold(name, events, found));
  for (const one of asked) {
    const there = byCommand.get(`${one.commandId} on ${one.stream}`) ?? [];
    found.push(...wrongWith(one, there, states.get(one.stream) ?? []).map((what) => `${one.commandId}: ${what}`));
  }
  return [...found, ...outOfOrder(asked)];
}

/** The states after each event. Says so where the chart does not admit what is there. */
function fold(stream: string, events: readonly Recorded[], found: string[]): Snapshot[] {
  const category = stream.slice(0, stream.indexOf('-'));
  const { machine } = aggregates.find((each) => each.category === category)!;
  const states: Snapshot[] = [];
  let at = genesis(machine);
  for (const [i, event] of events.entries()) {
    if (event.revision !== i) found.push(`${stream}: revision ${event.revision} at place ${i}`);
    try {
      at = record(machine, at, eventOf(event));
    } catch (error) {
      found.push(`${stream}@${i}: ${(error as Error).message}`);
    }
    states.push(at);
  }
  return states;
}

function wrongWith({ told, error, tries }: Asked, there: readonly Recorded[], states: readonly Snapshot[]): string[] {
  const found: string[] = [];
  const first = there[0]?.revision ?? 0;
  if (there.some(({ revision }, i) => revision !== first + i)) found.push('its events are not one behind the other');
  if (told !== undefined && told.position !== null) {
    const events = canonicalize(told.events);
    if (canonicalize(there.map(eventOf)) !== events)
      found.push(`${events} was acknowledged, and ${there.length} are there`);
    if (there.at(-1)?.position !== told.position) found.push(`acknowledged at ${told.position}, and is elsewhere`);
    const state = told.revision === null ? undefined : states[told.revision];
    if (state !== undefined && canonicalize(stateOf(state)) !== canonicalize(told.state))
      found.push(`the state it was told is not that at revision ${told.revision}`);
  } else if (
    there.length > 0 &&
    (error instanceof IllegalEvent || (tries === 1 && !(error instanceof StoreUnavailable)))
  ) {
    // A decision that judges a repetition anew may find that what was wanted is so already, or that others went on.
    found.push(`${error?.message ?? 'it changed nothing'}, it was told, and ${there.map(({ type }) => type)} is there`);
  }
  return found;
}

/** What was acknowledged before something else was asked for is before it in the log. */
function outOfOrder(asked: readonly Asked[]): string[] {
  const written = asked.filter(({ told }) => told !== undefined && told.position !== null);
  return written.flatMap((later) =>
    written
      .filter((earlier) => earlier.answered! < later.asked && earlier.told!.position! >= later.told!.position!)
      .map(
        (earlier) => `${later.commandId} was asked for after ${earlier.commandId} was acknowledged, and is before it`,
      ),
  );
}
