import { organizationRows } from '../../../projections/organizations.ts';
import { activeProjectRows, projectKeyOf } from '../../../projections/projects.ts';
import { eventOf, idOf } from '../../../projections/recorded.ts';
import type { AdminKeyEvent } from '../../domain/key/admin-key.ts';
import type { OrganizationEvent } from '../../domain/organization/organization.ts';
import type { ProjectEvent } from '../../domain/project/project.ts';
import type { Reactor } from '../../kernel/followers/reactor.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { Administration } from '../command.ts';
import { reactionContext, waitForRows } from '../reactions.ts';

/** Ends one kind of resource; idempotent. */
type Ending = (recorded: Recorded, organizationId: string) => Promise<void>;

const pageSize = 50;

/** Ends the resources of a closed organization (contract B.1). Their credentials are refused from the closing on. */
export const organizationReactions = (admin: Administration): Reactor => {
  const { aggregates, clock, models } = admin;

  const archive = async (recorded: Recorded, projectId: string): Promise<void> => {
    await aggregates.project.dispatch(projectId, 'archive', { at: clock.wall() }, reactionContext(recorded, projectId));
  };

  const archiveProjects: Ending = async (recorded, organizationId) => {
    const prefix = projectKeyOf(organizationId, '');
    for (let after: string | undefined; ; ) {
      const projects = models.range(activeProjectRows, { prefix, after, limit: pageSize });
      await Promise.all(projects.map(({ row }) => archive(recorded, row.id)));
      if (projects.length < pageSize) return;
      after = projects.at(-1)?.key;
    }
  };

  /** `adminKeyReactions` ends the keys' own streams. */
  const deleteAdminKeys: Ending = async (recorded, organizationId) => {
    const context = reactionContext(recorded, 'admin-keys');
    for (;;) {
      const result = await aggregates.organization.dispatch(
        organizationId,
        'dropAdminKeys',
        { most: pageSize },
        context,
      );
      if (result.events.length === 0) return;
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
    async react(recorded) {
      const event = eventOf<OrganizationEvent | ProjectEvent | AdminKeyEvent>(recorded);
      if (!['organization.closed', 'project.created', 'admin_key.created'].includes(event.type)) return;
      await waitForRows(admin, recorded, [organizationRows, activeProjectRows]);
      const id = idOf(recorded);
      if (event.type === 'organization.closed') for (const end of endings) await end(recorded, id);
      // Begun before the closing, created after it: it never worked, and its stream must end, too.
      if (event.type === 'project.created' && isClosed(event.organization_id)) await archive(recorded, id);
      if (event.type === 'admin_key.created' && isClosed(event.organization_id)) {
        await aggregates.adminKey.dispatch(id, 'delete', undefined, reactionContext(recorded, id));
      }
    },
  };
};
