import { Command } from 'commander';
import { type OAuthClientRow, oauthClientRows } from '../../../projections/oauth-clients.ts';
import { credentialOf } from '../../admin/credential.ts';
import { systemClock as clock } from '../../clock.ts';
import { tokenPermissions } from '../../domain/permissions.ts';
import { newId, newToken } from '../../ids.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { asOperator, type Operator, operatorContext, recording } from '../operator.ts';
import { permissionList } from '../option-values.ts';
import { confirm } from '../output.ts';
import { type Kinds, listing, type Output, type Shown, show, showOne } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';
import { findOrganization } from './org.ts';

const shown = ({ id, status, data }: OAuthClientRow): Shown => ({
  client_id: id,
  organization_id: data.organizationId,
  name: data.name,
  status,
  created_at: data.createdAt,
  redacted_secret: data.redactedValue,
  permissions: data.permissions,
});
const kinds: Kinds = { client_id: 'id', organization_id: 'id', client_secret: 'id', created_at: 'time' };

const findClient = ({ rows }: Operator, id: string): OAuthClientRow => {
  const row = rows.get(oauthClientRows, id);
  if (row?.status !== 'active') throw new Failure(`There is no OAuth client ${printable(id)}.`);
  return row;
};

const whyNoPolicies = (permission: string): string =>
  permission.startsWith('policies:')
    ? `No route takes ${permission} from an access token: policies are for Admin keys. `
    : '';

const examples = `
Examples:
  weir oauth-client create org_01jd… --name "provisioning" --permissions "projects:read projects:write"
                                       prints the client's id and its secret, once
  weir oauth-client list               those that work, of every organization
  weir oauth-client list org_01jd… --all --json
  weir oauth-client delete oac_01jd… --yes
                                       its secret and its tokens work no more once this is done`;

const create = (oauthClient: Command, terminal: Terminal): void => {
  listing(recording(oauthClient.command('create')))
    .description('Create an OAuth client; its secret is printed once')
    .argument('<organization>', 'org_…')
    .requiredOption('--name <name>', '1 to 120 characters')
    .option(
      '--permissions <list>',
      'the most its tokens may do (default: all of them; none for policies)',
      permissionList(tokenPermissions, whyNoPolicies),
    )
    .action(
      (
        organizationId: string,
        options: Output & { name: string; permissions?: readonly string[] },
        command: Command,
      ) => {
        const name = options.name.trim();
        const length = [...name].length;
        if (length < 1 || length > 120) throw new UsageError('An OAuth client’s name has 1 to 120 characters.');
        const create = async (operator: Operator): Promise<void> => {
          findOrganization(operator, organizationId);
          const { aggregates, secrets } = operator;
          const context = operatorContext(terminal, command);
          const id = newId('oac', clock);
          const secret = newToken('s');
          const permissions = options.permissions ?? tokenPermissions;
          const client = { organizationId, name, permissions, ...credentialOf(secrets, secret), at: clock.wall() };
          await aggregates.organization.dispatch(organizationId, 'issueOAuthClient', { clientId: id }, context);
          const result = await aggregates.oauthClient.dispatch(id, 'create', client, context);
          await operator.waitForProjection(result.position);
          showOne(terminal, { client_id: id, client_secret: secret, permissions }, options, kinds);
        };
        return asOperator(terminal, create, { makesKeys: true });
      },
    );
};

const list = (oauthClient: Command, terminal: Terminal): void => {
  listing(oauthClient.command('list'))
    .description('List OAuth clients, without their secrets')
    .argument('[organization]', 'org_…; default: every organization')
    .option('--all', 'the deleted ones too')
    .action((organizationId: string | undefined, options: Output & { all?: true }) =>
      asOperator(terminal, async (operator) => {
        if (organizationId !== undefined) findOrganization(operator, organizationId);
        const wanted = ({ status, data }: OAuthClientRow): boolean =>
          (options.all || status === 'active') &&
          (organizationId === undefined || data.organizationId === organizationId);
        const rows = allRows(operator.rows, oauthClientRows, 'oac_', wanted);
        show(terminal, Array.from(rows, shown), options, kinds);
      }),
    );
};

const deleteClient = (oauthClient: Command, terminal: Terminal): void => {
  listing(recording(oauthClient.command('delete')))
    .description('Delete an OAuth client for good, with every token it has')
    .argument('<client>', 'oac_…')
    .option('--yes', 'do not ask')
    .action((id: string, options: Output & { yes?: true }, command: Command) =>
      asOperator(terminal, async (operator) => {
        const { data } = findClient(operator, id);
        await confirm(terminal, `“${printable(data.name)}” and its tokens will never work again.`, options.yes);
        const { oauthClient: clients, organization } = operator.aggregates;
        const context = operatorContext(terminal, command);
        const result = await clients.dispatch(id, 'delete', undefined, context);
        await organization.dispatch(data.organizationId, 'endOAuthClient', { clientId: id }, context);
        await operator.waitForProjection(result.position);
        showOne(terminal, { client_id: id, status: result.state.status }, options, kinds);
      }),
    );
};

/** `weir oauth-client` (contract C.3). */
export const oauthClientCommand = (terminal: Terminal): Command => {
  const oauthClient = new Command('oauth-client').description('Create, list and delete OAuth clients');
  withExamples(oauthClient, examples);
  create(oauthClient, terminal);
  list(oauthClient, terminal);
  deleteClient(oauthClient, terminal);
  return oauthClient;
};
