import type { Clock } from '../clock.ts';
import type { Directory } from '../data/access/directory.ts';
import type { AdminPrincipal, ClientPrincipal, Identity } from '../data/access/principal.ts';
import type { aggregates, Category } from '../domain/aggregates.ts';
import { type Code, catalogue, type Fault, fault } from '../errors.ts';
import type { Head, Route } from '../http/route.ts';
import { type Aggregate, type Decisions, type DomainEvent, IllegalEvent } from '../kernel/aggregate/aggregate.ts';
import type { Actors, Context } from '../kernel/commands/actor.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import { Budget } from '../kernel/store/budget.ts';
import {
  type EventStore,
  StoreRefuses,
  StoreUnavailable,
  StreamDeleted,
  WrongRevision,
} from '../kernel/store/store.ts';
import type { DayKeys } from '../secrets/day-keys.ts';
import type { Secrets } from '../secrets/master-secrets.ts';

type ActorsOf<A> =
  A extends Aggregate<infer D, infer F extends DomainEvent, infer C>
    ? C extends Decisions<D, F>
      ? Actors<D, F, C>
      : never
    : never;

export type Aggregates = { readonly [C in Category]: ActorsOf<(typeof aggregates)[C]> };

export interface Administration {
  readonly aggregates: Aggregates;
  readonly models: ReadModels;
  readonly directory: Directory;
  readonly store: EventStore;
  readonly dayKeys: DayKeys;
  /** Records the refusal of a known credential. */
  readonly accessLog: { refused(who: Identity, aim: Pick<Route, 'method' | 'path'>, code: Code, head: Head): void };
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** Longest wait of an answer for the projections, in milliseconds. */
  readonly projectionWaitMs: number;
}

/** All work for one request shares a budget of five seconds. */
const budgets = new WeakMap<Head, Budget>();

const budgetOf = (head: Head): Budget => {
  const budget = budgets.get(head) ?? new Budget();
  budgets.set(head, budget);
  return budget;
};

export const contextOf = (call: {
  readonly head: Head;
  readonly principal: AdminPrincipal | ClientPrincipal;
}): Context => ({
  actor: { type: call.principal.kind === 'admin_key' ? 'api_key' : 'oauth_client', id: call.principal.id },
  requestId: call.head.requestId,
  ip: call.head.ip,
  userAgent: call.head.header('user-agent'),
  budget: budgetOf(call.head),
});

/** Maps an illegal transition to the 409 in `conflicts` for the state, and errors of the store to 503. */
export const execute = async <T>(
  work: () => Promise<T>,
  conflicts: Readonly<Record<string, Code>> = {},
): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof IllegalEvent) {
      const code = conflicts[cause.status];
      if (code) throw conflict(code, cause);
    }
    const message = cause instanceof StoreRefuses || cause instanceof StreamDeleted ? cause.message : undefined;
    if (message !== undefined || cause instanceof StoreUnavailable || cause instanceof WrongRevision) {
      throw fault('dependency_unavailable', {
        headers: { 'Retry-After': '1' },
        cause,
        ...(message !== undefined && { message }),
      });
    }
    throw cause;
  }
};

/** Errors of commands that an organization refuses unless it is active. */
export const organizationConflicts = { suspended: 'organization_suspended', closed: 'organization_suspended' } as const;

/** Codes such as `api_key_revoked` are 401 for the caller's own key and 409 for the target (contract E.2). */
const conflict = (code: Code, cause: unknown): Fault =>
  fault(code, { ...(catalogue[code].status === 401 && { status: 409 }), cause });

/** Waits until the read models include the position; on a timeout the answer goes out, since the events are durable. */
export const waitForProjection = async (
  admin: Administration,
  call: { readonly head: Head },
  position: bigint | null,
): Promise<void> => {
  if (position === null) return;
  const { clock, models, projectionWaitMs } = admin;
  const left = budgetOf(call.head).until(clock) - clock.monotonic();
  await models.reached(position, Math.max(0, Math.min(projectionWaitMs, left)));
};
