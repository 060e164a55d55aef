import { oauthClientRows } from '../../../projections/oauth-clients.ts';
import { organizationRows } from '../../../projections/organizations.ts';
import { eventOf, idOf } from '../../../projections/recorded.ts';
import type { OAuthClientEvent } from '../../domain/oauth/oauth-client.ts';
import type { OrganizationEvent } from '../../domain/organization/organization.ts';
import type { Reactor } from '../../kernel/followers/reactor.ts';
import type { Administration } from '../command.ts';
import { reactionContext, waitForRows } from '../reactions.ts';

/** Keeps the streams of OAuth clients and their organization consistent after a crash between two commands. */
export const oauthClientReactions = (admin: Administration): Reactor => ({
  name: 'oauth-clients-follow-organizations',
  version: 1,
  begins: 'at the start',
  categories: ['organization', 'oauthClient'],
  async react(recorded) {
    const event = eventOf<OrganizationEvent | OAuthClientEvent>(recorded);
    const isOfClient = event.type === 'oauth_client.created' || event.type === 'oauth_client.deleted';
    const clientId =
      event.type === 'organization.oauth_client_ended' ? event.client_id : isOfClient ? idOf(recorded) : null;
    if (clientId === null) return;
    const { aggregates, models } = admin;
    const context = reactionContext(recorded, clientId);
    const end = () => aggregates.oauthClient.dispatch(clientId, 'delete', undefined, context);
    if (!isOfClient) {
      await end();
      return;
    }
    await waitForRows(admin, recorded, [oauthClientRows, organizationRows]);
    const organizationId = models.get(oauthClientRows, clientId)?.data.organizationId ?? '';
    if (event.type === 'oauth_client.deleted') {
      await aggregates.organization.dispatch(organizationId, 'endOAuthClient', { clientId }, context);
    } else if (models.get(organizationRows, organizationId)?.status === 'closed') {
      // Admitted before the organization was closed, created after it: it never worked, and its stream must end, too.
      await end();
    }
  },
});
