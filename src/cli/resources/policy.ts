import { Command, InvalidArgumentError } from 'commander';
import {
  livePolicyRows,
  type PolicyRow,
  policyKeyOf,
  policyOwners,
  policyRows,
} from '../../../projections/policies.ts';
import { requireActive } from '../../admin/policies/policy-judgement.ts';
import { renderPolicy } from '../../admin/policies/policy-object.ts';
import { systemClock as clock } from '../../clock.ts';
import { hasUnpublishedChanges, policyState } from '../../domain/policy/policy.ts';
import { newId } from '../../ids.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { asOperator, type Operator, operatorContext, recording } from '../operator.ts';
import { findOrganization } from '../org/org.ts';
import { confirm } from '../output.ts';
import { jsonOf, type Kinds, listing, type Output, type Shown, show, showOne } from '../table/listing.ts';
import { printable, type Terminal } from '../terminal.ts';

const examples = `
Examples:
  weir policy list                        of every organization
  weir policy show pol_01jd…              its draft, and what is in force
  weir policy publish pol_01jd…           asks, since it is in force at once
  weir policy pause pol_01jd…
  weir policy resume pol_01jd… --revision 4 --yes
                                          only where nobody has changed it since revision 4`;

const shown = (row: PolicyRow): Shown => ({
  id: row.id,
  name: row.data.name,
  state: policyState(row),
  revision: row.data.revision,
  current_version: row.data.current?.version ?? 0,
  has_unpublished_changes: hasUnpublishedChanges(row.data),
  updated_at: row.data.updatedAt,
  organization_id: row.data.organizationId,
});
const kinds: Kinds = { id: 'id', organization_id: 'id', updated_at: 'time', published_at: 'time', created_at: 'time' };

const whole = (row: PolicyRow): Shown => {
  const { draft, current, description, createdAt } = row.data;
  return {
    ...shown(row),
    description,
    created_at: createdAt,
    mode: draft.mode,
    direction: draft.direction,
    scope: draft.scope,
    project_ids: draft.projectIds,
    match_threshold_basis_points: draft.thresholdBasisPoints,
    rule: draft.rule,
    published_at: current?.publishedAt ?? null,
    published_mode: current?.mode ?? null,
    published_rule: current?.rule ?? null,
  };
};

const find = ({ rows }: Operator, id: string): PolicyRow => {
  const owner = rows.get(policyOwners, id);
  const row = owner && rows.get(policyRows, policyKeyOf(owner.organizationId, id));
  if (!row || row.status === 'deleted')
    throw new Failure(`There is no policy ${printable(id)}. weir policy list shows them.`);
  return row;
};

const revisionOf = (text: string): number => {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give the revision that weir policy show has shown.');
};

const questions = {
  publish: 'The draft of “%” will be what every gateway judges requests by.',
  pause: '“%” will judge no request any more.',
  resume: '“%” will judge requests again.',
} as const;

/** `weir policy` (contract B.5). */
export const policyCommand = (terminal: Terminal): Command => {
  const policy = withExamples(new Command('policy'), examples).description(
    'List, show, publish, pause and resume policies',
  );

  listing(policy.command('list'))
    .description('List policies')
    .argument('[organization]', 'org_…; default: every organization')
    .action((organization: string | undefined, options: Output) =>
      asOperator(terminal, async (operator) => {
        if (organization !== undefined) findOrganization(operator, organization);
        const prefix = organization === undefined ? 'org_' : policyKeyOf(organization, '');
        show(terminal, Array.from(allRows(operator.rows, livePolicyRows, prefix), shown), options, kinds);
      }),
    );

  listing(policy.command('show'))
    .description('Show one policy with its rules')
    .argument('<policy>', 'pol_…')
    .action((id: string, options: Output) =>
      asOperator(terminal, async (operator) => {
        const row = find(operator, id);
        const json = jsonOf(terminal, options);
        if (!json) return showOne(terminal, whole(row), options, kinds);

        json.add({ ...renderPolicy(row), organization_id: row.data.organizationId });
        json.end();
      }),
    );

  const change = (name: keyof typeof questions, description: string): void => {
    listing(recording(policy.command(name)))
      .description(description)
      .argument('<policy>', 'pol_…')
      .option(
        '--revision <number>',
        'only if it is still at this revision (default: the one that is there now)',
        revisionOf,
      )
      .option('--yes', 'do not ask')
      .action((id: string, options: Output & { revision?: number; yes?: true }, command: Command) =>
        asOperator(terminal, async (operator) => {
          const row = find(operator, id);
          await confirm(terminal, questions[name].replace('%', printable(row.data.name)), options.yes);
          const { organizationId, draft } = row.data;
          if (name === 'publish') requireActive(operator.rows, organizationId, draft.projectIds);
          const input = { revision: options.revision ?? row.data.revision, at: clock.wall() };
          const context = operatorContext(terminal, command);
          const policies = operator.aggregates.policy;
          const { position, state } =
            name === 'publish'
              ? await policies.dispatch(id, name, { ...input, versionId: newId('polv', clock) }, context)
              : await policies.dispatch(id, name, input, context);
          await operator.waitForProjection(position);
          showOne(terminal, shown({ id, ...state }), options, kinds);
        }),
      );
  };
  change('publish', 'Make the draft the current version');
  change('pause', 'Take a policy out of force');
  change('resume', 'Put a paused policy back in force');
  return policy;
};
