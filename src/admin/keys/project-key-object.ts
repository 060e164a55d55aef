import { z } from 'zod';
import type { ProjectKeyRow } from '../../../projections/project-keys.ts';
import type { ProjectRow } from '../../../projections/projects.ts';
import { type Millis, seconds } from '../../clock.ts';
import { projectPermissions } from '../../domain/permissions.ts';
import { deletionMarker } from '../fields.ts';

export const statuses = ['active', 'revoked', 'expired', 'suspended'] as const;

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

/** @param usedAt Unix seconds of the last recorded use */
export const render = (row: ProjectKeyRow, project: ProjectRow, now: Millis, usedAt: number | null) => ({
  object: 'organization.project.api_key',
  id: row.id,
  name: row.data.name,
  redacted_value: row.data.redactedValue,
  created_at: seconds(row.data.createdAt),
  last_used_at: usedAt,
  expires_at: row.data.expiresAt === null ? null : seconds(row.data.expiresAt),
  owner: { type: 'project', id: project.id, name: project.name },
  status: statusOf(row, project, now),
  permissions: row.data.permissions,
});
