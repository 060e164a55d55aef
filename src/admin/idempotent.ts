import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AdminPrincipal } from '../data/access/principal.ts';
import { Fault, fault } from '../errors.ts';
import type { Head, Reply } from '../http/route.ts';
import { type Administration, type Aggregates, contextOf, execute, waitForProjection } from './command.ts';
import { type IdempotentRequest, keepSecret, keptSecret } from './sealed-secret-store.ts';

/** A new resource: the answer without its secret. */
export interface Created {
  readonly body: Readonly<Record<string, unknown>>;
  /** Position of the last event of its stream. */
  readonly head: bigint | null;
}

export interface CreateOperation {
  readonly newResourceId: () => string;
  /** Idempotent: finds what an abandoned attempt with the same id and secret has made. */
  readonly create: (resourceId: string, secret: string) => Promise<Created>;
  /** Generates the secret, which is the `value` of the answer. */
  readonly newSecret?: () => string;
  /** Whether the answer may be repeated: 409 once the key or the project has ended. */
  readonly isRepeatable?: (resourceId: string) => boolean;
  readonly recordRepeat?: (resourceId: string) => Promise<unknown>;
}

export interface CreateCall {
  readonly head: Head;
  readonly principal: AdminPrincipal;
  readonly body: unknown;
}

export const idempotencyErrors = [
  'idempotency_key_reused',
  'idempotency_result_unavailable',
  'idempotency_in_progress',
] as const;

const param = 'header.Idempotency-Key';
const unavailable = () => fault('idempotency_result_unavailable', { param });
const created = (body: Created['body'], value: string | undefined, again = false): Reply => ({
  status: 201,
  ...(again && { headers: { 'Idempotent-Replayed': 'true' } }),
  body: value === undefined ? body : { ...body, value },
});

/** Recent requests that have ended and may have left a reservation, which then need not time out (contract I). */
const endedAt = new WeakMap<Aggregates, Set<string>>();
const mostEnded = 10_000;

const endedOf = ({ aggregates }: Administration): Set<string> => {
  const ended = endedAt.get(aggregates) ?? new Set<string>();
  endedAt.set(aggregates, ended);
  return ended;
};

const end = (ended: Set<string>, request: string): void => {
  ended.add(request);
  for (const oldest of ended) {
    if (ended.size <= mostEnded) return;
    ended.delete(oldest);
  }
};

/**
 * Makes one resource per Idempotency-Key (contract I). A failure before the first commit releases the key; any other
 * leaves the reservation to the next attempt, which continues with the same id and secret.
 * @throws Fault 409 if the key is in progress, used with another body, or its result is gone
 */
export const createIdempotently = async (
  admin: Administration,
  call: CreateCall,
  operation: CreateOperation,
): Promise<Reply> => {
  const idempotencyKey = call.head.header('idempotency-key');
  if (idempotencyKey === undefined) {
    // Routes with a secret require the key.
    const { body, head } = await operation.create(operation.newResourceId(), '');
    await waitForProjection(admin, call, head);
    return created(body, undefined);
  }
  const { organizationId, id: credentialId } = call.principal;
  const scope = JSON.stringify([organizationId, credentialId, call.head.method, call.head.path, idempotencyKey]);
  const fingerprint = createHash('sha256')
    .update(canonicalize(call.body) ?? '')
    .digest('hex');
  const asking: IdempotentRequest = { head: call.head, principal: call.principal, idempotencyKey, scope, fingerprint };
  const stream = admin.secrets.mac(scope);
  const context = contextOf(call);
  const keys = admin.aggregates.idempotency;
  const by = call.head.requestId;
  const ended = endedOf(admin);
  const reservation = { fingerprint, resourceId: operation.newResourceId(), by, at: admin.clock.wall(), ended };
  const reserved = await execute(() => keys.dispatch(stream, 'reserve', reservation, context)).catch((error) => {
    end(ended, by);
    throw error;
  });
  const { resourceId, answer } = reserved.state.data;
  if (answer) return repeat(admin, asking, operation, resourceId, answer.body);

  try {
    const { newSecret } = operation;
    const value = newSecret && (await execute(() => keepSecret(admin, asking, resourceId, newSecret)));
    if (value === null) throw unavailable();
    const { body, head } = await operation.create(resourceId, value ?? '');
    const completion = { by, at: admin.clock.wall(), answer: { status: 201, body } };
    await execute(() => keys.dispatch(stream, 'complete', completion, context));
    await waitForProjection(admin, call, head);
    return created(body, value);
  } catch (error) {
    // A refusal comes before the first append of the resource; a store that fails may have committed something.
    if (
      error instanceof Fault &&
      error.refusal.status < 500 &&
      error.refusal.code !== 'idempotency_result_unavailable'
    ) {
      // If this fails, the next attempt continues with the reservation.
      await execute(() => keys.dispatch(stream, 'release', { by }, context)).catch(() => {});
    }
    throw error;
  } finally {
    end(ended, by);
  }
};

const repeat = async (
  admin: Administration,
  asking: IdempotentRequest,
  making: CreateOperation,
  resourceId: string,
  body: Created['body'],
): Promise<Reply> => {
  if (making.isRepeatable?.(resourceId) === false) throw unavailable();
  if (!making.newSecret) return created(body, undefined, true);
  const value = await execute(() => keptSecret(admin, asking, resourceId));
  if (value === null) throw unavailable();
  await execute(async () => making.recordRepeat?.(resourceId));
  return created(body, value, true);
};
