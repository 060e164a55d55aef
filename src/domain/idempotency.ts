import { fault } from '../errors.ts';
import { type Aggregate, type Changes, chartOf, type StateOf } from '../kernel/aggregate/aggregate.ts';

export interface KeptAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One Idempotency-Key in its scope (contract I), of which the stream's name is an HMAC. */
export interface Idempotency {
  /** Of the request's body. */
  readonly fingerprint: string;
  readonly resourceId: string;
  readonly reservedBy: string;
  readonly reservedAt: number;
  readonly completedAt: number;
  /** Null until completed. */
  readonly answer: KeptAnswer | null;
}

export type IdempotencyEvent =
  | {
      readonly type: 'idempotency.reserved';
      readonly fingerprint: string;
      readonly resource_id: string;
      readonly reserved_by: string;
      readonly reserved_at: number;
    }
  | ({ readonly type: 'idempotency.completed'; readonly completed_at: number } & KeptAnswer)
  | { readonly type: 'idempotency.released'; readonly reserved_by: string };

/** 24 hours, in milliseconds. */
const keptMs = 24 * 3600 * 1000;
/** An older reservation was left by a crash, since no command takes so long (contract I). */
const abandonedMs = 6_000;

const blank: Idempotency = {
  fingerprint: '',
  resourceId: '',
  reservedBy: '',
  reservedAt: 0,
  completedAt: 0,
  answer: null,
};

const apply: Changes<Idempotency, IdempotencyEvent> = {
  'idempotency.reserved': (_, event) => ({
    ...blank,
    fingerprint: event.fingerprint,
    resourceId: event.resource_id,
    reservedBy: event.reserved_by,
    reservedAt: event.reserved_at,
  }),
  'idempotency.completed': (data, event) => ({
    ...data,
    completedAt: event.completed_at,
    answer: { status: event.status, body: event.body },
  }),
  'idempotency.released': (data) => data,
};

const machine = chartOf<Idempotency, IdempotencyEvent>(apply).createMachine({
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

type IdempotencyState = StateOf<typeof machine>;

const isHeldBy = ({ status, data }: IdempotencyState, request: string): boolean =>
  status === 'reserved' && data.reservedBy === request;

const decide = {
  /** No event: the answer is to be repeated. An abandoned reservation keeps its resource id, so that a crash leads to no second one. */
  reserve: (
    { status, data }: IdempotencyState,
    input: {
      fingerprint: string;
      resourceId: string;
      by: string;
      at: number;
      /** Ended requests of this gateway that may have left their reservation. */
      ended: ReadonlySet<string>;
    },
  ): IdempotencyEvent[] => {
    const { fingerprint, by: reserved_by, at: reserved_at } = input;
    const reserved = (resource_id: string): IdempotencyEvent[] => [
      { type: 'idempotency.reserved', fingerprint, resource_id, reserved_by, reserved_at },
    ];
    if (status === 'absent' || status === 'free') return reserved(input.resourceId);
    if (status === 'completed' && input.at - data.completedAt >= keptMs) return reserved(input.resourceId);
    const param = 'header.Idempotency-Key';
    if (data.fingerprint !== input.fingerprint) throw fault('idempotency_key_reused', { param });
    if (status === 'completed') return [];
    if (input.ended.has(data.reservedBy)) return reserved(data.resourceId);
    if (input.at - data.reservedAt >= abandonedMs) return reserved(data.resourceId);
    throw fault('idempotency_in_progress', { param, headers: { 'Retry-After': '1' } });
  },
  complete: (state: IdempotencyState, input: { by: string; at: number; answer: KeptAnswer }): IdempotencyEvent[] =>
    isHeldBy(state, input.by) ? [{ type: 'idempotency.completed', completed_at: input.at, ...input.answer }] : [],
  /** Does nothing for a slow request whose reservation another one has taken over. */
  release: (state: IdempotencyState, input: { by: string }): IdempotencyEvent[] =>
    isHeldBy(state, input.by) ? [{ type: 'idempotency.released', reserved_by: input.by }] : [],
};

export const idempotency: Aggregate<Idempotency, IdempotencyEvent, typeof decide> = {
  category: 'idempotency',
  version: 2,
  machine,
  apply,
  decide,
};
