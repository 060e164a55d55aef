import { Command } from 'commander';
import { lastUseOf } from '../../../projections/credential-uses.ts';
import { limitsOf, type ProjectKeyRow, projectKeyRows, spendLimitOf } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import { credentialOf } from '../../admin/credential.ts';
import { statuses, statusOf } from '../../admin/keys/project-key-object.ts';
import { succeed } from '../../admin/keys/succession.ts';
import { systemClock as clock } from '../../clock.ts';
import { type KeyLimits, noKeyLimits } from '../../domain/key/key-limits.ts';
import { projectPermissions } from '../../domain/permissions.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';
import { newId, newToken } from '../../ids.ts';
import { WrongRevision } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { pepperIdOf, type Secrets } from '../../secrets/master-secrets.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { limitsText, spendLimitText } from '../limits-text.ts';
import { asOperator, type Operator, operatorContext, recording } from '../operator.ts';
import { oneOf, permissionList } from '../option-values.ts';
import { confirm } from '../output.ts';
import { type Kinds, listing, type Output, type Shown, show, showOne } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';
import { type End, endOf, findKey, findProject, graceOf, nameOf, ownLimitsOf, ownSpendLimitOf } from './arguments.ts';

const examples = `
Examples:
  weir key list                           the keys that work, of every project; --all for the ended ones too
  weir key list proj_01jd… --wide
  weir key list --status expired -o json
  weir key show key_01jd…
  weir key create proj_01jd… --name laptop --expires 90d
                                          prints the whole key, once
  weir key create proj_01jd… --name ci --limits requests_per_minute=60 --spend-limit 5/day
  weir key rotate key_01jd… --grace 24h   a successor, beside which the key goes on for a day; prints it whole, once
  weir key suspend key_01jd…
  weir key reactivate key_01jd…
  weir key revoke key_01jd… --yes         for good`;

const ended: ReadonlySet<string> = new Set(['revoked', 'expired']);

/** The status that callers see; `lost` if its pepper is not among the secrets, so that no gateway accepts it. */
const statusHere = ({ peppers }: Secrets, key: ProjectKeyRow, project: ProjectRow): string => {
  const status = statusOf(key, project, clock.wall());
  return ended.has(status) || peppers.some((pepper) => pepperIdOf(pepper) === key.data.pepperId) ? status : 'lost';
};

const shown =
  ({ rows, secrets }: Operator) =>
  (key: ProjectKeyRow, project: ProjectRow): Shown => {
    const used = lastUseOf(rows, key.id);
    return {
      id: key.id,
      name: key.data.name,
      status: statusHere(secrets, key, project),
      expires_at: key.data.expiresAt,
      project_id: project.id,
      last_used_at: used === null ? null : used * 1000,
      created_at: key.data.createdAt,
      redacted_value: key.data.redactedValue,
      permissions: key.data.permissions,
      limits: limitsText(limitsOf(rows, key)),
      spend_limit: spendLimitText(spendLimitOf(rows, key)),
      rotated_from: key.data.rotatedFrom,
      rotated_to: key.data.rotatedTo,
    };
  };
const kinds: Kinds = {
  id: 'id',
  project_id: 'id',
  expires_at: 'time',
  last_used_at: 'time',
  created_at: 'time',
  rotated_from: 'id',
  rotated_to: 'id',
  rotated_from_expires_at: 'time',
  value: 'id',
};

const shownStatuses: readonly string[] = [...statuses, 'lost'];

const refuseArchived = ({ id, status }: ProjectRow): void => {
  if (status === 'archived') throw new Failure(`The project ${id} is archived: its keys are revoked for good.`);
};

const list = (key: Command, terminal: Terminal): void => {
  listing(key.command('list'))
    .description('List project keys, without their values')
    .argument('[project]', 'proj_…; default: every project')
    .option('--all', 'the revoked and expired ones too')
    .option(
      '--status <status>',
      `only those that are ${shownStatuses.join(', ')}; lost: its pepper is gone`,
      oneOf(shownStatuses),
    )
    .action((projectId: string | undefined, options: Output & { all?: true; status?: string }) =>
      asOperator(terminal, async (operator) => {
        const rowOf = shown(operator);
        const projects = new Map<string, ProjectRow>();
        if (projectId !== undefined) projects.set(projectId, findProject(operator, projectId));
        const found: Shown[] = [];
        const prefix = projectId === undefined ? 'proj_' : `${projectId}:`;
        for (const row of allRows(operator.rows, projectKeyRows, prefix)) {
          const { projectId: of } = row.data;
          const project = projects.get(of) ?? findProject(operator, of);
          projects.set(of, project);
          const status = statusHere(operator.secrets, row, project);
          const isWanted = options.status === undefined ? options.all || !ended.has(status) : status === options.status;
          if (isWanted) found.push(rowOf(row, project));
        }
        show(terminal, found, options, kinds);
      }),
    );
};

const showKey = (key: Command, terminal: Terminal): void => {
  listing(key.command('show'))
    .description('Show one project key, without its value')
    .argument('<key>', 'key_…')
    .action((id: string, options: Output) =>
      asOperator(terminal, async (operator) => {
        const found = findKey(operator, id);
        showOne(terminal, shown(operator)(found.key, found.project), options, kinds);
      }),
    );
};

interface Wanted {
  readonly name: string;
  readonly expires?: End;
  readonly permissions?: readonly string[];
  readonly limits?: KeyLimits;
  readonly spendLimit?: SpendLimit;
}

const create = (key: Command, terminal: Terminal): void => {
  listing(recording(key.command('create')))
    .description('Create a project key; its value is printed once')
    .argument('<project>', 'proj_…')
    .requiredOption('--name <name>', '1 to 120 characters', nameOf)
    .option('--expires <time>', 'how long it lasts, such as 90d, or a time or date (default: for ever)', endOf)
    .option(
      '--permissions <list>',
      'what it may do (default: all that a project key can)',
      permissionList(projectPermissions),
    )
    .option('--limits <list>', 'its own rate limits, such as requests_per_minute=60,concurrent_requests=2', ownLimitsOf)
    .option(
      '--spend-limit <limit>',
      'what it may spend in US dollars, such as 12.50/month; or by day, week, total',
      ownSpendLimitOf,
    )
    .action((projectId: string, options: Output & Wanted, command: Command) =>
      asOperator(
        terminal,
        async (operator) => {
          const project = findProject(operator, projectId);
          refuseArchived(project);
          const { aggregates, secrets } = operator;
          const context = operatorContext(terminal, command);
          const id = newId('key', clock);
          const value = newToken('p');
          const at = clock.wall();
          await aggregates.project.dispatch(projectId, 'issueKey', { keyId: id }, context);
          const input = {
            organizationId: project.organizationId,
            projectId,
            name: options.name,
            permissions: options.permissions ?? projectPermissions,
            expiresAt: options.expires?.(at) ?? null,
            limits: options.limits ?? noKeyLimits,
            spendLimit: options.spendLimit ?? null,
            ...credentialOf(secrets, value),
            at,
          };
          const { position, state } = await aggregates.projectKey.dispatch(id, 'create', input, context);
          await operator.waitForProjection(position);
          showOne(terminal, { ...shown(operator)({ id, ...state }, project), value }, options, kinds);
        },
        { makesKeys: true },
      ),
    );
};

const rotate = (key: Command, terminal: Terminal): void => {
  listing(recording(key.command('rotate')))
    .description('Make the successor of a key, whose value is printed once; the key goes on for its grace')
    .argument('<key>', 'key_…')
    .requiredOption('--grace <time>', 'how long the key goes on, such as 24h; 0s to 7d', graceOf)
    .action((id: string, { grace, ...options }: Output & { grace: number }, command: Command) =>
      asOperator(
        terminal,
        async (operator) => {
          const { key: old, project } = findKey(operator, id);
          refuseArchived(project);
          const { aggregates, secrets } = operator;
          const context = operatorContext(terminal, command);
          const successorId = newId('key', clock);
          const value = newToken('p');
          const order = {
            keyId: old.id,
            successorId,
            graceSeconds: grace,
            credential: credentialOf(secrets, value),
            at: clock.wall(),
            async admit() {
              await aggregates.project.dispatch(project.id, 'issueKey', { keyId: successorId }, context);
            },
          };
          const { successor, predecessor } = await succeed(aggregates, order, context).catch(async (error: unknown) => {
            // The failed rotation cannot be resumed, and its successor's value was never shown.
            if (error instanceof WrongRevision && error.stream.endsWith(old.id))
              await aggregates.projectKey.dispatch(successorId, 'revoke', { reason: 'rotation_refused' }, context);
            throw error;
          });
          await operator.waitForProjection(successor.head);
          await operator.waitForProjection(predecessor.head);
          const made = shown(operator)({ id: successorId, ...successor.state }, project);
          const { expiresAt } = predecessor.state.data;
          showOne(terminal, { ...made, rotated_from_expires_at: expiresAt, value }, options, kinds);
        },
        { makesKeys: true },
      ),
    );
};

const change = (
  key: Command,
  terminal: Terminal,
  name: 'suspend' | 'reactivate' | 'revoke',
  description: string,
  question?: string,
): void => {
  const command = listing(recording(key.command(name)))
    .description(description)
    .argument('<key>', 'key_…');
  if (question !== undefined) command.option('--yes', 'do not ask');
  command.action((id: string, options: Output & { yes?: true }, called: Command) =>
    asOperator(terminal, async (operator) => {
      const found = findKey(operator, id);
      if (name !== 'revoke') refuseArchived(found.project);
      if (question !== undefined && found.key.status !== 'revoked')
        await confirm(terminal, question.replace('%', printable(found.key.data.name)), options.yes);
      const keys = operator.aggregates.projectKey;
      const context = operatorContext(terminal, called);
      const result =
        name === 'revoke'
          ? await keys.dispatch(id, name, { reason: 'requested' }, context)
          : await keys.dispatch(id, name, { at: clock.wall() }, context);
      await operator.waitForProjection(result.position);
      showOne(terminal, shown(operator)({ id, ...result.state }, found.project), options, kinds);
    }),
  );
};

/** `weir key` (contract B.3). */
export const keyCommand = (terminal: Terminal): Command => {
  const key = withExamples(new Command('key'), examples).description(
    'List, show, create, rotate, suspend, reactivate and revoke project keys',
  );
  list(key, terminal);
  showKey(key, terminal);
  create(key, terminal);
  rotate(key, terminal);
  change(key, terminal, 'suspend', 'Refuse a key until it is reactivated');
  change(key, terminal, 'reactivate', 'Let a suspended key work again');
  change(
    key,
    terminal,
    'revoke',
    'Revoke a key for good',
    'A revoke cannot be undone: the key “%” will never work again.',
  );
  return key;
};
