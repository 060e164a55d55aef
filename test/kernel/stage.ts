import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type ActorOptions, actors, type Context } from '../../src/kernel/commands/actor.ts';
import type { EventStore, Metadata, NewEvent } from '../../src/kernel/store/store.ts';
import { type MemoryOptions, memoryStore } from '../support/memory-store.ts';
import { type TicketEvent, ticket } from './ticket.ts';

export const me: Context = { actor: { type: 'operator', id: 'operator_1' } };
export const stream = 'ticket-tic_1';

/** An event as another process writes it. */
export const foreign = (event: TicketEvent | { readonly type: string }): NewEvent => {
  const { type, ...data } = event;
  return { id: randomUUID(), type, data, metadata: { at: 0 } as Metadata };
};

/** A store, where each read of it began, and the actors over it. */
export const stage = (memory: MemoryOptions = {}, options: Partial<ActorOptions> = {}) => {
  const store = memoryStore(memory);
  const reads: number[] = [];
  const watched: EventStore = {
    ...store,
    read(name, range) {
      reads.push(range?.from ?? 0);
      return store.read(name, range);
    },
  };
  return { store, reads, tickets: actors(ticket, { store: watched, ...options }) };
};

/** The same with ticket `tic_1` open. */
export const opened = async (memory: MemoryOptions = {}, options: Partial<ActorOptions> = {}) => {
  const set = stage(memory, options);
  await set.tickets.dispatch('tic_1', 'open', { title: 'a' }, me);
  return set;
};

export const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it was not refused'),
    (error) => error,
  );
