import { admittedAdminKeys } from '../../projections/admin-keys.ts';
import { admittedKeys, projectKeyOwners, projectKeyRows } from '../../projections/project-keys.ts';
import { activeProjectRows, projectKeyOf, projectOwners } from '../../projections/projects.ts';
import { eventOf, idOf } from '../../projections/recorded.ts';
import type { ProjectKeyEvent } from '../domain/key/project-key.ts';
import type { OrganizationEvent } from '../domain/organization/organization.ts';
import type { ProjectEvent } from '../domain/project/project.ts';
import type { Context } from '../kernel/commands/actor.ts';
import type { Reactor } from '../kernel/followers/reactor.ts';
import type { Table } from '../kernel/rows/rows.ts';
import type { Recorded } from '../kernel/store/store.ts';
import type { Administration } from './command.ts';
import { sealedSecretStream } from './sealed-secret-store.ts';

export const waitForRowsMs = 10_000;
const pageSize = 100;
/** An admission this old without its stream was left by a crash: commands are shorter. */
const abandonedMs = 600_000;

/** A reaction is recorded with the id of the request that caused the event. */
export const reactionContext = (recorded: Recorded, subject: string): Context => ({
  actor: { type: 'system', id: 'reactions' },
  requestId: recorded.metadata.request_id,
  commandId: `${recorded.id}:${subject}`,
  causationId: recorded.id,
  correlationId: recorded.metadata.$correlationId,
});

/** @throws Error if the read models are behind: then the reaction is retried */
export const waitForRows = async (
  { models }: Administration,
  { position }: Recorded,
  tables: readonly Table<object>[],
): Promise<void> => {
  if (!(await models.reached(position, waitForRowsMs, tables))) throw new Error('the read models are behind');
};

/** Keeps the streams of a project's keys consistent with the project's own. */
export const keyReactions = (admin: Administration): Reactor => {
  const { aggregates, models } = admin;

  const revoke = async (recorded: Recorded, keyId: string): Promise<void> => {
    await aggregates.projectKey.dispatch(
      keyId,
      'revoke',
      { reason: 'project_archived' },
      reactionContext(recorded, keyId),
    );
  };

  const revokeAll = async (recorded: Recorded, projectId: string): Promise<void> => {
    const prefix = `${projectId}:`;
    for (let after: string | undefined; ; ) {
      const keys = models.range(projectKeyRows, { prefix, after, limit: pageSize });
      await Promise.all(keys.flatMap(({ row }) => (row.status === 'revoked' ? [] : [revoke(recorded, row.id)])));
      if (keys.length < pageSize) return;
      after = keys.at(-1)?.key;
    }
  };

  const isArchived = (projectId: string): boolean => {
    const owner = models.get(projectOwners, projectId);
    return !owner || !models.get(activeProjectRows, projectKeyOf(owner.organizationId, projectId));
  };

  return {
    name: 'keys-follow-projects',
    version: 1,
    begins: 'at the start',
    categories: ['project', 'projectKey'],
    async react(recorded) {
      const event = eventOf<ProjectEvent | ProjectKeyEvent>(recorded);
      if (
        !['project.archived', 'project_key.created', 'project_key.revoked', 'project_key.expired'].includes(event.type)
      ) {
        return;
      }
      await waitForRows(admin, recorded, [projectKeyRows, projectOwners]);
      const id = idOf(recorded);
      if (event.type === 'project.archived') return revokeAll(recorded, id);
      // Admitted before the archive, created after it: it never worked, and its stream must end, too.
      if (event.type === 'project_key.created') return isArchived(event.project_id) ? revoke(recorded, id) : undefined;
      const owner = models.get(projectKeyOwners, id);
      if (owner)
        await aggregates.project.dispatch(owner.projectId, 'endKey', { keyId: id }, reactionContext(recorded, id));
    },
  };
};

/** Deletes an Admin key after a crash between the organization's stream and its own. */
export const adminKeyReactions = (admin: Administration): Reactor => ({
  name: 'admin-keys-follow-organizations',
  version: 1,
  begins: 'at the start',
  categories: ['organization'],
  async react(recorded) {
    const event = eventOf<OrganizationEvent>(recorded);
    if (event.type !== 'organization.admin_key_ended') return;
    await admin.aggregates.adminKey.dispatch(
      event.key_id,
      'delete',
      undefined,
      reactionContext(recorded, event.key_id),
    );
  },
});

/** Removes the sealed secret of an ended key, which is not shown again (contract I). */
export const replayReactions = (admin: Administration): Reactor => ({
  name: 'sealed-secrets-end-with-their-keys',
  version: 1,
  begins: 'at the start',
  categories: ['projectKey', 'adminKey'],
  async react(recorded) {
    if (recorded.type === 'project_key.revoked' || recorded.type === 'admin_key.deleted') {
      await admin.store.remove(sealedSecretStream(idOf(recorded)));
    }
  },
});

/** Ends admissions without a key, which would count against the limit forever. */
export const endAbandonedAdmissions = async (admin: Administration): Promise<void> => {
  for (const { key: keyId, row, context } of abandoned(admin, admittedKeys, 'key_')) {
    await admin.aggregates.project.dispatch(row.projectId, 'endKey', { keyId }, context);
  }
};

export const endAbandonedAdminKeys = async (admin: Administration): Promise<void> => {
  for (const { row, context } of abandoned(admin, admittedAdminKeys, 'org_')) {
    await admin.aggregates.organization.dispatch(row.organizationId, 'dropAdminKey', { keyId: row.keyId }, context);
  }
};

/** Admissions without a stream after the time limit, with the context for ending them. */
export const abandoned = <Row extends { readonly at: number }>(
  { models, clock }: Administration,
  admitted: Table<Row>,
  prefix: string,
): { readonly key: string; readonly row: Row; readonly context: Context }[] =>
  models
    .range(admitted, { prefix, limit: pageSize })
    .filter(({ row }) => clock.wall() - row.at >= abandonedMs)
    .map(({ key, row }) => ({
      key,
      row,
      // The time makes it unique, since the same id can be admitted again.
      context: { actor: { type: 'system', id: 'sweeper' }, commandId: `abandoned:${key}:${row.at}` },
    }));
