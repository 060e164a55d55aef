import { assign, setup } from 'xstate';
import { fault } from '../errors.ts';
import type { Aggregate } from '../kernel/aggregate.ts';

/** What a completed request was answered, without the secret. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One Idempotency-Key in its scope (decisions I, architecture 7). The stream's name is an HMAC of that scope. */
export interface Idempotency {
  readonly fingerprint: string | null;
  readonly resourceId: string;
  readonly reservedAt: number;
  readonly completedAt: number | null;
  readonly answer: KeptAnswer | null;
}

export type IdempotencyFact =
  | {
      readonly type: 'idempotency.reserved';
      readonly fingerprint: string;
      readonly resource_id: string;
      readonly reserved_at: number;
    }
  | ({ readonly type: 'idempotency.completed'; readonly completed_at: number } & KeptAnswer)
  | { readonly type: 'idempotency.released' };

/** How long a result stands for its key, in milliseconds (spec: 24 hours). */
const keptMs = 24 * 3600 * 1000;
/** A reservation older than this was left by a crash and is taken up again. */
const abandonedMs = 30_000;

const blank: Idempotency = { fingerprint: null, resourceId: '', reservedAt: 0, completedAt: null, answer: null };

const apply = (data: Idempotency, fact: IdempotencyFact): Idempotency => {
  switch (fact.type) {
    case 'idempotency.reserved':
      return {
        fingerprint: fact.fingerprint,
        resourceId: fact.resource_id,
        reservedAt: fact.reserved_at,
        completedAt: null,
        answer: null,
      };
    case 'idempotency.completed':
      return { ...data, completedAt: fact.completed_at, answer: { status: fact.status, body: fact.body } };
    case 'idempotency.released':
      return { ...data, fingerprint: null };
  }
};

const machine = setup({
  types: { context: {} as Idempotency, events: {} as IdempotencyFact },
  actions: { apply: assign(({ context, event }) => apply(context, event)) },
}).createMachine({
  id: 'idempotency',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'idempotency.reserved': { target: 'reserved', actions: 'apply' } } },
    reserved: {
      on: {
        'idempotency.reserved': { actions: 'apply' },
        'idempotency.completed': { target: 'completed', actions: 'apply' },
        'idempotency.released': { target: 'free', actions: 'apply' },
      },
    },
    completed: { on: { 'idempotency.reserved': { target: 'reserved', actions: 'apply' } } },
    free: { on: { 'idempotency.reserved': { target: 'reserved', actions: 'apply' } } },
  },
});

const decide = {
  /**
   * Reserves the key for a resource that does not exist yet. No fact means that the same request has been answered and
   * its answer stands: it is to be repeated. An abandoned reservation keeps its resource id, so that no crash ever makes
   * two resources of one key.
   */
  reserve: (data: Idempotency, input: { fingerprint: string; resourceId: string; at: number }): IdempotencyFact[] => {
    const reserved = (resourceId: string): IdempotencyFact[] => [
      { type: 'idempotency.reserved', fingerprint: input.fingerprint, resource_id: resourceId, reserved_at: input.at },
    ];
    if (data.fingerprint === null) return reserved(input.resourceId);
    if (data.completedAt !== null && input.at - data.completedAt >= keptMs) return reserved(input.resourceId);
    const param = 'header.Idempotency-Key';
    if (data.fingerprint !== input.fingerprint) throw fault('idempotency_key_reused', { param });
    if (data.completedAt !== null) return [];
    if (input.at - data.reservedAt >= abandonedMs) return reserved(data.resourceId);
    throw fault('idempotency_in_progress', { param, headers: { 'Retry-After': '1' } });
  },
  complete: (_: Idempotency, input: { at: number; answer: KeptAnswer }): IdempotencyFact[] => [
    { type: 'idempotency.completed', completed_at: input.at, ...input.answer },
  ],
  release: (): IdempotencyFact[] => [{ type: 'idempotency.released' }],
};

export const idempotency: Aggregate<Idempotency, IdempotencyFact, typeof decide> = {
  category: 'idempotency',
  version: 1,
  machine,
  apply,
  decide,
};
