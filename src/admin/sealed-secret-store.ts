import { randomUUID } from 'node:crypto';
import type { Millis } from '../clock.ts';
import type { AdminPrincipal } from '../data/access/principal.ts';
import { fault } from '../errors.ts';
import type { Head } from '../http/route.ts';
import type { Budget } from '../kernel/store/budget.ts';
import { type EventStore, WrongRevision } from '../kernel/store/store.ts';
import { DayKeysUnusable } from '../secrets/day-keys.ts';
import { publish } from '../telemetry.ts';
import type { Administration } from './command.ts';
import { contextOf } from './command.ts';
import { boxOf, openSecret, type Seal, type SealedBox, sealSecret } from './sealed-secret.ts';

/** What the secret of a new key is bound to. */
export interface IdempotentRequest {
  readonly head: Head;
  readonly principal: AdminPrincipal;
  readonly idempotencyKey: string;
  readonly scope: string;
  readonly fingerprint: string;
}

/** Time to live in the store: 24 hours. */
const keptSeconds = 86_400;

/** A stream for one sealed secret. */
export const sealedSecretStream = (resourceId: string): string => `replay-${resourceId}`;

/** An access token may expire before a replay, so OAuth callers have the client's id, which is not secret (contract I). */
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

/** Null if the secret is gone, or bound to another request. */
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

/** @throws Fault 503 if the folder cannot be used, which is also logged */
const currentKey = ({ dayKeys }: Administration, { head }: IdempotentRequest, now: Millis) => {
  try {
    return dayKeys.current(now);
  } catch (error) {
    if (!(error instanceof DayKeysUnusable)) throw error;
    publish('request.failed', { requestId: head.requestId, error });
    const message = `The secret of a new key cannot be kept: the folder for that cannot be used at the gateway, since ${error.why}.`;
    throw fault('dependency_unavailable', { message, headers: { 'Retry-After': '1' } });
  }
};

/** Keeps a secret before its resource exists. @returns the kept one, which an abandoned attempt may have generated */
export const keepSecret = async (
  admin: Administration,
  asking: IdempotentRequest,
  resourceId: string,
  newSecret: () => string,
): Promise<string | null> => {
  const { store, clock } = admin;
  const { actor, requestId, budget } = contextOf(asking);
  const now = clock.wall();
  const { day, key } = currentKey(admin, asking, now);
  if (await read(store, resourceId, budget)) return keptSecret(admin, asking, resourceId);
  const value = newSecret();
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
