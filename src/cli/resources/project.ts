import { Command } from 'commander';
import { activeProjectRows, type ProjectRow, projectKeyOf, projectRows } from '../../../projections/projects.ts';
import { systemClock as clock } from '../../clock.ts';
import { newId } from '../../ids.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { limitsByModel, spendLimitText } from '../limits-text.ts';
import { asOperator, operatorContext, recording } from '../operator.ts';
import { findOrganization } from '../org/org.ts';
import { confirm } from '../output.ts';
import { type Kinds, listing, type Output, type Shown, show, showOne } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { findProject, nameOf, organizationOf } from './arguments.ts';

const examples = `
Examples:
  weir project list                       the active ones of every organization; --all for the archived ones too
  weir project list org_01jd… -o json
  weir project show proj_01jd…
  weir project create --name research     in the only organization, or in the one that stands before --name
  weir project archive proj_01jd… --yes   for good: its keys never work again`;

const shown = (row: ProjectRow): Shown => ({
  id: row.id,
  name: row.name,
  status: row.status,
  created_at: row.createdAt,
  organization_id: row.organizationId,
  archived_at: row.archivedAt,
  allowed_models: row.allowedModels ?? 'all',
  denied_models: row.deniedModels,
  model_aliases: row.modelAliases,
  rate_limits: limitsByModel(row.rateLimits),
  spend_limit: spendLimitText(row.spendLimit),
});
const kinds: Kinds = { id: 'id', organization_id: 'id', created_at: 'time', archived_at: 'time' };

/** `weir project` (contract B.2). */
export const projectCommand = (terminal: Terminal): Command => {
  const project = withExamples(new Command('project'), examples).description('List, show, create and archive projects');

  listing(project.command('list'))
    .description('List projects')
    .argument('[organization]', 'org_…; default: every organization')
    .option('--all', 'the archived ones too')
    .action((organization: string | undefined, options: Output & { all?: true }) =>
      asOperator(terminal, async (operator) => {
        if (organization !== undefined) findOrganization(operator, organization);
        const prefix = organization === undefined ? 'org_' : projectKeyOf(organization, '');
        const rows = allRows(operator.rows, options.all ? projectRows : activeProjectRows, prefix);
        show(terminal, Array.from(rows, shown), options, kinds);
      }),
    );

  listing(project.command('show'))
    .description('Show one project')
    .argument('<project>', 'proj_…')
    .action((id: string, options: Output) =>
      asOperator(terminal, async (operator) => showOne(terminal, shown(findProject(operator, id)), options, kinds)),
    );

  listing(recording(project.command('create')))
    .description('Create a project')
    .argument('[organization]', 'org_…; default: the only one there is')
    .requiredOption('--name <name>', '1 to 120 characters', nameOf)
    .action((organization: string | undefined, options: Output & { name: string }, command: Command) =>
      asOperator(terminal, async (operator) => {
        const organizationId = organizationOf(operator, organization);
        if (findOrganization(operator, organizationId).status === 'closed')
          throw new Failure(`The organization ${organizationId} is closed: it can have no project any more.`);
        const id = newId('proj', clock);
        const input = { organizationId, name: options.name, at: clock.wall() };
        const context = operatorContext(terminal, command);
        const { position, state } = await operator.aggregates.project.dispatch(id, 'create', input, context);
        await operator.waitForProjection(position);
        showOne(terminal, shown({ id, ...state.data, status: 'active', rateLimits: {} }), options, kinds);
      }),
    );

  listing(recording(project.command('archive')))
    .description('Archive a project for good, with every key of it')
    .argument('<project>', 'proj_…')
    .option('--yes', 'do not ask')
    .action((id: string, options: Output & { yes?: true }, command: Command) =>
      asOperator(terminal, async (operator) => {
        const row = findProject(operator, id);
        if (row.status === 'active')
          await confirm(terminal, `No key of “${printable(row.name)}” will ever work again.`, options.yes);
        const context = operatorContext(terminal, command);
        const result = await operator.aggregates.project.dispatch(id, 'archive', { at: clock.wall() }, context);
        await operator.waitForProjection(result.position);
        const { archivedAt } = result.state.data;
        showOne(terminal, shown({ ...row, status: 'archived', archivedAt }), options, kinds);
      }),
    );
  return project;
};
