import { organizationRows } from '../../../projections/organizations.ts';
import { activeProjectRows, projectKeyOf } from '../../../projections/projects.ts';
import { factOf, idOf } from '../../../projections/recorded.ts';
import type { AdminKeyFact } from '../../domain/key/admin-key.ts';
import type { OrganizationFact } from '../../domain/organization/organization.ts';
import type { ProjectFact } from '../../domain/project/project.ts';
import type { Reactor } from '../../kernel/followers/reactor.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { Administration } from '../command.ts';
import { reactionContext, waitForRowsMs } from '../reactions.ts';

/** Ends one kind of what a closed organization had. Harmless when done twice. */
type Ending = (event: Recorded, organizationId: string) => Promise<void>;

/** Resources ended at a time. */
const pageSize = 50;

/**
 * Ends what a closed organization had: its projects are archived, its Admin keys deleted (contract B.1). None of its
 * credentials has worked since the closing itself; this makes each stream say so.
 */
export const organizationReactions = (admin: Administration): Reactor => {
  const { aggregates, clock, models } = admin;

  const archive = async (event: Recorded, projectId: string): Promise<void> => {
    await aggregates.project.dispatch(projectId, 'archive', { at: clock.wall() }, reactionContext(event, projectId));
  };

  const archiveProjects: Ending = async (event, organizationId) => {
    const prefix = projectKeyOf(organizationId, '');
    for (let after: string | undefined; ; ) {
      const projects = models.range(activeProjectRows, { prefix, after, limit: pageSize });
      await Promise.all(projects.map(({ row }) => archive(event, row.id)));
      if (projects.length < pageSize) return;
      after = projects.at(-1)?.key;
    }
  };

  /** Their own streams follow the organization's (`adminKeyReactions`). */
  const deleteAdminKeys: Ending = async (event, organizationId) => {
    const context = reactionContext(event, 'admin-keys');
    for (;;) {
      const result = await aggregates.organization.dispatch(
        organizationId,
        'dropAdminKeys',
        { most: pageSize },
        context,
      );
      if (result.facts.length === 0) return;
    }
  };

  const endings: readonly Ending[] = [archiveProjects, deleteAdminKeys];

  const isClosed = (organizationId: string): boolean =>
    models.get(organizationRows, organizationId)?.status === 'closed';

  return {
    name: 'resources-follow-organizations',
    version: 1,
    begins: 'at the start',
    categories: ['organization', 'project', 'adminKey'],
    async react(event) {
      const fact = factOf<OrganizationFact | ProjectFact | AdminKeyFact>(event);
      if (!['organization.closed', 'project.created', 'admin_key.created'].includes(fact.type)) return;
      if (!(await models.reached(event.position, waitForRowsMs, [organizationRows, activeProjectRows])))
        throw new Error('the read models are behind');
      const id = idOf(event);
      if (fact.type === 'organization.closed') for (const end of endings) await end(event, id);
      // Begun before the closing and made after it: it never worked, and its stream shall say so.
      if (fact.type === 'project.created' && isClosed(fact.organization_id)) await archive(event, id);
      if (fact.type === 'admin_key.created' && isClosed(fact.organization_id)) {
        await aggregates.adminKey.dispatch(id, 'delete', undefined, reactionContext(event, id));
      }
    },
  };
};
