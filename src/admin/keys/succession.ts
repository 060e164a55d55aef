import type { CreateProjectKey, ProjectKey, ProjectKeyEvent } from '../../domain/key/project-key.ts';
import { successorExpiry } from '../../domain/key/project-key.ts';
import { Fault } from '../../errors.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import type { CommandResult } from '../../kernel/commands/command.ts';
import type { Aggregates } from '../command.ts';

interface Succession {
  readonly keyId: string;
  readonly successorId: string;
  readonly graceSeconds: number;
  readonly credential: Pick<CreateProjectKey, 'digest' | 'pepperId' | 'redactedValue'>;
  readonly at: number;
  /** Admits the successor to the project; after a failure the sweep ends the admission. */
  readonly admit: () => Promise<void>;
}

type KeyResult = CommandResult<ProjectKey, ProjectKeyEvent>;

/**
 * Creates the successor before the key gets its end, so that after a crash one of the two works. Idempotent for the same successor.
 * @throws Fault 409 `api_key_revoked`, `api_key_expired`, `api_key_suspended`, `api_key_rotated`; and as the commands do
 */
export const succeed = async (
  { projectKey }: Pick<Aggregates, 'projectKey'>,
  { keyId, successorId, graceSeconds, credential, at, admit }: Succession,
  context: Context,
): Promise<{ readonly predecessor: KeyResult; readonly successor: KeyResult }> => {
  const { state } = await projectKey.dispatch(keyId, 'mayRotate', { successorId, at }, context);
  await admit();
  const { organizationId, projectId, name, permissions, windowsOf, limits, spendLimit } = state.data;
  const input: CreateProjectKey = {
    organizationId,
    projectId,
    name,
    permissions,
    expiresAt: successorExpiry(state.data, at),
    ...credential,
    rotatedFrom: keyId,
    windowsOf: windowsOf ?? keyId,
    limits,
    spendLimit,
    at,
  };
  const made = await projectKey.dispatch(successorId, 'create', input, context);
  const predecessor = await projectKey
    .dispatch(keyId, 'rotate', { successorId, graceSeconds, at }, context)
    .catch(async (error: unknown) => {
      if (error instanceof Fault && error.refusal.status === 409)
        await projectKey.dispatch(successorId, 'revoke', { reason: 'rotation_refused' }, context);
      throw error;
    });
  if (predecessor.events.length === 0) return { predecessor, successor: made };
  // The key may have changed since it was read.
  const { data } = predecessor.state;
  const { name: kept, permissions: held, limits: own, spendLimit: most } = data;
  const same = { name: kept, permissions: held, limits: own, spendLimit: most, at };
  return { predecessor, successor: await projectKey.dispatch(successorId, 'update', same, context) };
};
