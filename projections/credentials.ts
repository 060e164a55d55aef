import { type AdminKeyFact, adminKey } from '../src/domain/admin-key.ts';
import { type ProjectKeyFact, projectKey } from '../src/domain/project-key.ts';
import { compile } from '../src/kernel/chart.ts';
import type { Projection, Rows } from '../src/kernel/projection.ts';
import { table } from '../src/kernel/rows.ts';
import { admit, factOf, idOf } from './recorded.ts';

/** A credential as the events of its own stream leave it; whether it works depends on its project and organization too. */
export interface CredentialRow {
  readonly kind: 'project_key' | 'admin_key';
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
  /** Empty for Admin keys. */
  readonly projectId: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
  /** The chart's state: `active`, `suspended`, `expired`, `revoked` or `deleted`. */
  readonly status: string;
}

/** Key: the digest of the token as it stands in the event. */
export const credentialRows = table<CredentialRow>('credentials');
/** Key: the key's id. */
const credentialDigests = table<{ readonly digest: string }>('credential-digests');

const charts = { project_key: compile(projectKey), admin_key: compile(adminKey) } as const;

export const credentials: Projection = {
  name: 'credentials',
  version: 1,
  categories: ['projectKey', 'adminKey'],
  tables: [credentialRows, credentialDigests],
  apply(event, rows) {
    const id = idOf(event);
    const fact = factOf<ProjectKeyFact | AdminKeyFact>(event);
    const digest = 'digest' in fact ? fact.digest : (rows.get(credentialDigests, id)?.digest ?? '');
    const row = next(rows, id, digest, fact);
    rows.put(credentialRows, digest, row);
    if ('digest' in fact) rows.put(credentialDigests, id, { digest });
  },
};

const next = (rows: Rows, id: string, digest: string, fact: ProjectKeyFact | AdminKeyFact): CredentialRow => {
  const kind = fact.type.startsWith('project_key.') ? 'project_key' : 'admin_key';
  const before = rows.get(credentialRows, digest);
  const status = admit(charts[kind], id, before?.status ?? 'absent', fact);
  if (fact.type === 'project_key.created' || fact.type === 'admin_key.created') {
    return {
      kind,
      id,
      name: fact.name,
      organizationId: fact.organization_id,
      projectId: fact.type === 'project_key.created' ? fact.project_id : '',
      permissions: fact.permissions,
      expiresAt: fact.expires_at,
      status,
    };
  }
  if (!before) throw new Error(`${fact.type} of a key that has no row: ${id}`);
  if (fact.type !== 'project_key.updated') return { ...before, status };
  return { ...before, name: fact.name, permissions: fact.permissions, expiresAt: fact.expires_at };
};
