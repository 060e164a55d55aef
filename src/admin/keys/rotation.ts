import { z } from 'zod';
import { seconds } from '../../clock.ts';
import { longestGraceSeconds } from '../../domain/key/project-key.ts';
import { fault } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import { whole } from '../../http/validation/whole.ts';
import { type AdminCall, adminRoute } from '../admin-route.ts';
import { type Administration, contextOf, execute, waitForProjection } from '../command.ts';
import { credentialOf } from '../credential.ts';
import { idempotencyKey } from '../fields.ts';
import { type Created, idempotencyErrors } from '../idempotent.ts';
import { admitKey } from './key-capacity.ts';
import { createKey, type FoundKey, oneProjectKey } from './one-project-key.ts';
import { createdKeyObject, render } from './project-key-object.ts';
import { succeed } from './succession.ts';

const rotateBody = z.strictObject({
  grace_seconds: whole()
    .min(0)
    .max(longestGraceSeconds)
    .describe('How long the key goes on beside its successor; with 0 it ends at once'),
});

const rotatedObject = createdKeyObject
  .extend({
    rotated_from: z.object({ id: z.string(), expires_at: z.int() }).describe('The key that it succeeds, and its end'),
  })
  .meta({ id: 'RotatedProjectApiKey' });

type RotateCall = AdminCall<unknown, unknown, z.infer<typeof rotateBody>, FoundKey>;

/** `POST …/api_keys/{api_key_id}/rotate` (contract B.3). */
export const rotateKeyRoute = (admin: Administration): Route => {
  const { aggregates, clock, models, secrets } = admin;

  const rotate = async (call: RotateCall, successorId: string, value: string): Promise<Created> => {
    const { project, key } = call.found;
    if (project.status === 'archived') throw fault('project_archived');
    const context = contextOf(call);
    const at = clock.wall();
    const order = {
      keyId: key.id,
      successorId,
      graceSeconds: call.body.grace_seconds,
      credential: credentialOf(secrets, value),
      at,
      admit: () => admitKey(admin, project.id, successorId, context),
    };
    const { predecessor, successor } = await execute(() => succeed(aggregates, order, context), {
      revoked: 'api_key_revoked',
    });
    // When resumed after a crash, the successor may have been revoked in the meantime.
    if (successor.state.status === 'revoked') throw fault('idempotency_result_unavailable');
    const { expiresAt } = predecessor.state.data;
    if (expiresAt !== null && expiresAt <= at) admin.directory.refuse(key.id, predecessor.position, 'api_key_expired');
    await waitForProjection(admin, call, predecessor.head);
    const body = {
      ...render({ id: successorId, ...successor.state }, project, at, models),
      rotated_from: { id: key.id, expires_at: seconds(expiresAt ?? at) },
    };
    return { body, head: successor.head };
  };

  return adminRoute('project_api_keys:write', {
    ...oneProjectKey(admin),
    method: 'POST',
    path: '/v1/organization/projects/{project_id}/api_keys/{api_key_id}/rotate',
    operation: 'rotateProjectApiKey',
    summary:
      'Make the successor of an API key, which ends when its grace is over; the full key is in this answer alone',
    headers: { 'Idempotency-Key': idempotencyKey },
    body: rotateBody,
    replies: { 201: { description: 'The successor with its value', schema: rotatedObject } },
    errors: [
      'project_not_found',
      'api_key_not_found',
      'project_archived',
      'api_key_revoked',
      'api_key_expired',
      'api_key_suspended',
      'api_key_rotated',
      'api_key_limit_reached',
      ...idempotencyErrors,
    ],
    handle: (call) => createKey(admin, call, call.found.project, (id, value) => rotate(call, id, value)),
  });
};
