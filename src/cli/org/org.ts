import { Command } from 'commander';
import { type OrganizationRow, organizationRows } from '../../../projections/organizations.ts';
import { credentialOf } from '../../admin/credential.ts';
import { takeFirstRun } from '../../app/first-run.ts';
import { balanceOf, balanceRows } from '../../app/funds.ts';
import { systemClock as clock } from '../../clock.ts';
import { adminPermissions } from '../../domain/permissions.ts';
import { newId, newToken } from '../../ids.ts';
import type { Context } from '../../kernel/commands/actor.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { spendLimitText } from '../limits-text.ts';
import { asOperator, type Operator, operatorContext, recording } from '../operator.ts';
import { confirm } from '../output.ts';
import { type Kinds, listing, type Output, type Shown, show, showOne } from '../table/listing.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';

const shown = (row: OrganizationRow): Shown => ({
  id: row.id,
  name: row.name,
  status: row.status,
  tier: row.tier,
  subscription: row.subscription,
  lifetime_paid: row.lifetimePaid,
  credits: row.credits,
  spend_limit: spendLimitText(row.spendLimit),
  created_at: row.createdAt,
});
const withBalance = async ({ rows }: Operator, row: OrganizationRow): Promise<Shown> => {
  await rows.written(balanceRows);
  const { created_at, ...fields } = shown(row);
  return { ...fields, balance: balanceOf(rows, row.id), created_at: created_at ?? null };
};
const kinds: Kinds = { id: 'id', lifetime_paid: 'money', credits: 'money', balance: 'money', created_at: 'time' };

export const findOrganization = ({ rows }: Operator, id: string): OrganizationRow => {
  const row = rows.get(organizationRows, id);
  if (!row) throw new Failure(`There is no organization ${printable(id)}. weir org list shows them.`);
  return row;
};

/** Fields that are never truncated, so that they can be copied. */
export const madeKinds: Kinds = { organization_id: 'id', admin_api_key_id: 'id', admin_api_key: 'id' };

/** Makes an Admin key with every permission. */
export const makeAdminKey = async (operator: Operator, context: Context, organizationId: string, name: string) => {
  const { aggregates, secrets } = operator;
  const id = newId('akey', clock);
  const value = newToken('a');
  const key = { organizationId, name, permissions: adminPermissions, expiresAt: null, at: clock.wall() };
  const admission = { keyId: id, permissions: adminPermissions, expiresAt: null };
  await aggregates.organization.dispatch(organizationId, 'bootstrapAdminKey', admission, context);
  const result = await aggregates.adminKey.dispatch(id, 'create', { ...key, ...credentialOf(secrets, value) }, context);
  await operator.waitForProjection(result.position);
  return { id, value };
};

const examples = `
Examples:
  weir org create --name "Acme"        prints the id and the first Admin key, once
  weir org list --json
  weir org show org_01jd…
  weir org suspend org_01jd…
  weir org reactivate org_01jd…
  weir org close org_01jd… --yes       for good: its keys never work again`;

interface Create extends Output {
  readonly name: string;
  readonly newStore?: boolean;
}

const create = (org: Command, terminal: Terminal): void => {
  listing(recording(org.command('create')))
    .description('Create an organization and its first Admin key, which is printed once')
    .requiredOption('--name <name>', '1 to 120 characters')
    .option(
      '--new-store',
      'make an event store where there is none, without a question; name other files in AUDIT_SINKS then',
    )
    .action(async ({ name, newStore: isNew = false, ...options }: Create, command: Command) => {
      const trimmed = name.trim();
      const length = [...trimmed].length;
      if (length < 1 || length > 120) throw new UsageError('An organization’s name has 1 to 120 characters.');
      const create = async (operator: Operator): Promise<void> => {
        const id = newId('org', clock);
        const context = operatorContext(terminal, command);
        const input = { name: trimmed, at: clock.wall() };
        await takeFirstRun(operator.store, terminal, id);
        await operator.aggregates.organization.dispatch(id, 'create', input, context);
        const key = await makeAdminKey(operator, context, id, 'First Admin key');
        showOne(
          terminal,
          { organization_id: id, admin_api_key_id: key.id, admin_api_key: key.value },
          options,
          madeKinds,
        );
      };
      await asOperator(terminal, create, { begins: true, isNew });
    });
};

const list = (org: Command, terminal: Terminal): void => {
  listing(org.command('list'))
    .description('List every organization')
    .action((options: Output) =>
      asOperator(terminal, async ({ rows }) => {
        show(terminal, Array.from(allRows(rows, organizationRows, 'org_'), shown), options, kinds);
      }),
    );
};

const showOrganization = (org: Command, terminal: Terminal): void => {
  listing(org.command('show'))
    .description('Show one organization, with what is left of its credit')
    .argument('<id>', 'org_…')
    .action((id: string, options: Output) =>
      asOperator(terminal, async (operator) =>
        showOne(terminal, await withBalance(operator, findOrganization(operator, id)), options, kinds),
      ),
    );
};

const change = (
  org: Command,
  terminal: Terminal,
  name: 'suspend' | 'reactivate' | 'close',
  description: string,
  question?: string,
): void => {
  listing(recording(org.command(name)))
    .description(description)
    .argument('<id>', 'org_…')
    .option('--yes', 'do not ask')
    .action((id: string, options: Output & { yes?: true }, command: Command) =>
      asOperator(terminal, async (operator) => {
        const { name: called } = findOrganization(operator, id);
        if (question) await confirm(terminal, question.replace('%', printable(called)), options.yes);
        const context = operatorContext(terminal, command);
        const result = await operator.aggregates.organization.dispatch(id, name, undefined, context);
        await operator.waitForProjection(result.position);
        showOne(terminal, { id, name: called, status: result.state.status }, options, kinds);
      }),
    );
};

/** `weir org` (contract B.1). */
export const orgCommand = (terminal: Terminal): Command => {
  const org = new Command('org').description('Create, list, show, suspend, reactivate and close organizations');
  withExamples(org, examples);
  create(org, terminal);
  list(org, terminal);
  showOrganization(org, terminal);
  change(
    org,
    terminal,
    'suspend',
    'Refuse inference and changes; reading goes on',
    'Suspending “%” refuses models and changes to all of its keys until it is reactivated; reading goes on.',
  );
  change(org, terminal, 'reactivate', 'Lift a suspension');
  change(org, terminal, 'close', 'Close for good', 'Closing “%” ends every project and key of it for good.');
  return org;
};
