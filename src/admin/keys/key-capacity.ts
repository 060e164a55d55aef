import { projectKeyRows } from '../../../projections/project-keys.ts';
import { isOpen } from '../../domain/key/project-key.ts';
import { Fault } from '../../errors.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import { type Administration, execute } from '../command.ts';
import { expireKeys } from './expiry.ts';

const isFull = (error: unknown): boolean => error instanceof Fault && error.refusal.code === 'api_key_limit_reached';

/** Admits a key to a project; a full one first drops its ended keys (contract B.3). @throws Fault, also as `execute` */
export const admitKey = async (
  admin: Administration,
  projectId: string,
  keyId: string,
  context: Context,
): Promise<void> => {
  const { project } = admin.aggregates;
  const issueKey = () =>
    execute(() => project.dispatch(projectId, 'issueKey', { keyId }, context), { archived: 'project_archived' });
  try {
    await issueKey();
  } catch (error) {
    if (!isFull(error)) throw error;
    await execute(() => endKeys(admin, projectId, context));
    await issueKey();
  }
};

const endKeys = async (admin: Administration, projectId: string, context: Context): Promise<void> => {
  await expireKeys(admin);
  const hasEnded = (keyId: string): boolean => {
    const row = admin.models.get(projectKeyRows, `${projectId}:${keyId}`);
    return row !== undefined && !isOpen(row);
  };
  const byTheWay: Context = { ...context, actor: { type: 'system', id: 'reactions' } };
  await admin.aggregates.project.dispatch(projectId, 'endKeys', { hasEnded }, byTheWay);
};
