import { randomUUID } from 'node:crypto';
import type { AdminPrincipal } from '../access/principal.ts';
import type { Head } from '../http/route.ts';
import type { Budget } from '../kernel/budget.ts';
import { type EventStore, WrongRevision } from '../kernel/store.ts';
import type { Administration } from './command.ts';
import { contextOf } from './command.ts';
import { boxOf, openSecret, type Seal, type SealedBox, sealSecret } from './sealed-secret.ts';

/** A request for a key, as far as its secret is bound to it. */
export interface IdempotentRequest {
  readonly head: Head;
  readonly principal: AdminPrincipal;
  readonly idempotencyKey: string;
  readonly scope: string;
  readonly fingerprint: string;
}

/** Seconds that a sealed secret can be read from its stream: 24 hours. */
const keptSeconds = 86_400;

/** The one stream that a sealed secret is on, alone. */
export const sealedSecretStream = (resourceId: string): string => `replay-${resourceId}`;

/**
 * What the caller alone knows goes into the seal. An access token lives for an hour and a replay for a day, so for OAuth
 * callers the client's id stands in, which is no secret (contract I).
 */
const callerSecretOf = ({ head, principal }: IdempotentRequest): string =>
  principal.kind === 'oauth_client' ? principal.id : (head.header('authorization')?.replace(/^bearer /i, '') ?? '');

const sealOf = (admin: Administration, asking: IdempotentRequest, resourceId: string, dayKey: Buffer): Seal => ({
  masterKey: admin.secrets.masterKey,
  dayKey,
  callerSecret: callerSecretOf(asking),
  idempotencyKey: asking.idempotencyKey,
  scope: asking.scope,
  resourceId,
  fingerprint: asking.fingerprint,
});

/** The secret that was kept for this request, or null where it is gone or was another's. */
export const keptSecret = async (
  admin: Administration,
  asking: IdempotentRequest,
  resourceId: string,
): Promise<string | null> => {
  const { budget } = contextOf(asking);
  const box = await read(admin.store, resourceId, budget);
  const dayKey = box && admin.dayKeys.of(box.day);
  return dayKey ? openSecret(sealOf(admin, asking, resourceId, dayKey), box) : null;
};

/**
 * Keeps a secret before anything is made with it, and returns the one that is kept: a request that takes up an abandoned
 * one goes on with the secret that the first had minted.
 */
export const keepSecret = async (
  admin: Administration,
  asking: IdempotentRequest,
  resourceId: string,
  mint: () => string,
): Promise<string | null> => {
  const { store, dayKeys, clock } = admin;
  const { actor, requestId, budget } = contextOf(asking);
  if (await read(store, resourceId, budget)) return keptSecret(admin, asking, resourceId);
  const now = clock.wall();
  const { day, key } = dayKeys.current(now);
  const value = mint();
  const id = randomUUID();
  const box = sealSecret(sealOf(admin, asking, resourceId, key), day, value);
  const metadata = { at: now, actor, $correlationId: requestId ?? id, $causationId: id, v: 1 };
  const stream = sealedSecretStream(resourceId);
  try {
    await store.limitAge(stream, keptSeconds, { budget });
    await store.append(stream, [{ id, type: 'replay.sealed', data: { ...box }, metadata }], 'no_stream', { budget });
    return value;
  } catch (error) {
    if (error instanceof WrongRevision) return keptSecret(admin, asking, resourceId);
    throw error;
  }
};

const read = async (store: EventStore, resourceId: string, budget: Budget | undefined): Promise<SealedBox | null> => {
  for await (const event of store.read(sealedSecretStream(resourceId), { limit: 1, budget })) return boxOf(event);
  return null;
};
