import { z } from 'zod';
import type { PolicyRow } from '../../../projections/policies.ts';
import { seconds } from '../../clock.ts';
import { hasUnpublishedChanges, policyState } from '../../domain/policy/policy.ts';
import type { PolicyVersion } from '../../domain/policy/policy-events.ts';
import { directions, fieldsOf, modes, scopes } from '../../domain/policy/policy-terms.ts';
import { deletionMarker } from '../fields.ts';

export const policyStates = ['draft', 'monitoring', 'enforcing', 'paused'] as const;

const terms = {
  rule: z.string(),
  direction: z.enum(directions),
  mode: z.enum(modes),
  scope: z.enum(scopes),
  project_ids: z.array(z.string()),
  match_threshold_basis_points: z.int(),
};

export const versionObject = z
  .object({
    object: z.literal('organization.policy.version'),
    id: z.string(),
    version: z.int(),
    ...terms,
    published_at: z.int(),
    current: z.boolean(),
  })
  .meta({ id: 'PolicyVersion' });

export const policyItem = z
  .object({
    object: z.literal('organization.policy'),
    id: z.string(),
    name: z.string(),
    description: z.string(),
    state: z.enum(policyStates),
    revision: z.int(),
    has_unpublished_changes: z.boolean(),
    created_at: z.int(),
    updated_at: z.int(),
    current_version: z.int(),
  })
  .meta({ id: 'PolicySummary' });

export const policyObject = policyItem
  .extend({
    draft: z.object({ ...terms, base_version: z.int() }),
    published: versionObject.nullable(),
  })
  .meta({ id: 'Policy' });

export const policyMarker = deletionMarker('organization.policy.deleted', 'DeletedPolicy');

export const renderVersion = (version: PolicyVersion, current: PolicyVersion | null) => ({
  object: 'organization.policy.version',
  id: version.id,
  version: version.version,
  ...fieldsOf(version),
  published_at: seconds(version.publishedAt),
  current: version.id === current?.id,
});

export const renderItem = (row: PolicyRow) => ({
  object: 'organization.policy',
  id: row.id,
  name: row.data.name,
  description: row.data.description,
  state: policyState(row),
  revision: row.data.revision,
  has_unpublished_changes: hasUnpublishedChanges(row.data),
  created_at: seconds(row.data.createdAt),
  updated_at: seconds(row.data.updatedAt),
  current_version: row.data.current?.version ?? 0,
});

export const renderPolicy = (row: PolicyRow) => {
  const { draft, current } = row.data;
  return {
    ...renderItem(row),
    draft: { ...fieldsOf(draft), base_version: current?.version ?? 0 },
    published: current && renderVersion(current, current),
  };
};
