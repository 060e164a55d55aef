import { z } from 'zod';
import { lastUseOf } from '../../../projections/credential-uses.ts';
import { limitsOf, type ProjectKeyRow, spendLimitOf } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import { type Millis, seconds } from '../../clock.ts';
import { keyLimitFields } from '../../domain/key/key-limits.ts';
import { projectPermissions } from '../../domain/permissions.ts';
import { limitIntervals } from '../../domain/usage/spend-limit.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import { deletionMarker } from '../fields.ts';

export const statuses = ['active', 'revoked', 'expired', 'suspended'] as const;

const shownLimit = z.int().nullable();
export const keyLimitsShown = z
  .object({
    requests_per_minute: shownLimit,
    tokens_per_minute: shownLimit,
    requests_per_day: shownLimit,
    concurrent_requests: shownLimit,
  })
  .describe('Limits of its own; null where the limit of the tier holds');

export const keyObject = z
  .object({
    object: z.literal('organization.project.api_key'),
    id: z.string(),
    name: z.string(),
    redacted_value: z.string(),
    created_at: z.int(),
    last_used_at: z.int().nullable(),
    expires_at: z.int().nullable(),
    owner: z.object({ type: z.literal('project'), id: z.string(), name: z.string() }),
    status: z.enum(statuses),
    permissions: z.array(z.enum(projectPermissions)),
    limits: keyLimitsShown,
    spend_limit: z.object({ amount: z.number(), interval: z.enum(limitIntervals) }).nullable(),
  })
  .meta({ id: 'ProjectApiKey' });
export const keyMarker = deletionMarker('organization.project.api_key.deleted', 'DeletedProjectApiKey');
export const createdKeyObject = keyObject.extend({ value: z.string() }).meta({ id: 'CreatedProjectApiKey' });

/** The status from the key's own state, its project and the clock (contract B.2, B.3). */
export const statusOf = (row: ProjectKeyRow, project: ProjectRow, now: Millis): string => {
  if (row.status === 'revoked' || project.status === 'archived') return 'revoked';
  const { expiresAt } = row.data;
  return row.status === 'expired' || (expiresAt !== null && expiresAt <= now) ? 'expired' : row.status;
};

const spendLimitShown = (models: Pick<ReadModels, 'get'>, row: ProjectKeyRow) => {
  const limit = spendLimitOf(models, row);
  return limit && { ...limit, amount: limit.amount / 1_000_000 };
};

export const render = (row: ProjectKeyRow, project: ProjectRow, now: Millis, models: Pick<ReadModels, 'get'>) => ({
  object: 'organization.project.api_key',
  id: row.id,
  name: row.data.name,
  redacted_value: row.data.redactedValue,
  created_at: seconds(row.data.createdAt),
  last_used_at: lastUseOf(models, row.id),
  expires_at: row.data.expiresAt === null ? null : seconds(row.data.expiresAt),
  owner: { type: 'project', id: project.id, name: project.name },
  status: statusOf(row, project, now),
  permissions: row.data.permissions,
  limits: keyLimitFields(limitsOf(models, row)),
  spend_limit: spendLimitShown(models, row),
});
