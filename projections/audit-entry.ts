import type { AccessDenied } from '../src/domain/access-facts.ts';
import type { AdminKeyFact } from '../src/domain/admin-key.ts';
import type { OAuthClientFact } from '../src/domain/oauth-client.ts';
import type { OrganizationFact } from '../src/domain/organization.ts';
import type { PolicyFact } from '../src/domain/policy-facts.ts';
import { fieldsOf, type TermsFields } from '../src/domain/policy-terms.ts';
import type { ProjectFact } from '../src/domain/project.ts';
import type { ProjectKeyFact } from '../src/domain/project-key.ts';
import type { Rows } from '../src/kernel/projection.ts';
import type { Recorded } from '../src/kernel/store.ts';
import { adminKeyOwners } from './admin-keys.ts';
import { oauthClientRows } from './oauth-clients.ts';
import { policyKeyOf, policyOwners, policyRows } from './policies.ts';
import { projectKeyOwners, projectKeyRows } from './project-keys.ts';
import { projectOwners } from './projects.ts';
import { factOf, idOf } from './recorded.ts';

/** What an entry of the audit log can be about (contract C.1). Names equal the `openai` SDK's where it has one. */
export const auditTypes = [
  'access.denied',
  'organization.created',
  'organization.closed',
  'organization.updated',
  'organization.suspended',
  'organization.reactivated',
  'organization.tier_changed',
  'billing.credited',
  'billing.refunded',
  'billing.subscription_updated',
  'project.created',
  'project.updated',
  'project.archived',
  'api_key.created',
  'api_key.updated',
  'api_key.suspended',
  'api_key.reactivated',
  'api_key.expired',
  'api_key.deleted',
  'api_key.value_replayed',
  'admin_api_key.created',
  'admin_api_key.deleted',
  'policy.created',
  'policy.updated',
  'policy.published',
  'policy.paused',
  'policy.resumed',
  'policy.deleted',
  'oauth_client.created',
  'oauth_client.deleted',
] as const;
export type AuditType = (typeof auditTypes)[number];

type Fields = Readonly<Record<string, unknown>>;

/** What of one event the audit log shows. Never a secret, a digest or the text of a rule. */
export interface Entry {
  readonly type: AuditType;
  readonly organizationId: string;
  /** The project that it happened in. */
  readonly projectId?: string | undefined;
  /** What it happened to. */
  readonly resourceId: string;
  readonly data?: Fields | undefined;
  readonly changesRequested?: Fields | undefined;
}

/** Null for an event that is the machinery of another: an admission, a reservation. */
type Describe = (event: Recorded, rows: Pick<Rows, 'get'>) => Entry | null;

const secondsOrNull = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000));
/** Micro-dollars as dollars. */
const dollars = (micros: number): number => micros / 1_000_000;

/** Those of the fields that are not what they were. */
const changed = (before: Fields | undefined, now: Fields): Fields =>
  Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(before?.[name]) !== JSON.stringify(value)),
  );

const ofOrganization: Describe = (event) => {
  const fact = factOf<OrganizationFact>(event);
  const id = idOf(event);
  const about = { organizationId: id, resourceId: id };
  switch (fact.type) {
    case 'organization.created':
      return { ...about, type: fact.type, data: { name: fact.name } };
    case 'organization.suspended':
    case 'organization.reactivated':
    case 'organization.closed':
      return { ...about, type: fact.type };
    case 'organization.tier_changed':
      return { ...about, type: fact.type, data: { from: fact.from, to: fact.to } };
    case 'billing.credited': {
      const { kind, amount, reference } = fact;
      return { ...about, type: fact.type, data: { kind, amount: dollars(amount), reference } };
    }
    case 'billing.refunded':
      return { ...about, type: fact.type, data: { amount: dollars(fact.amount), reference: fact.reference } };
    case 'billing.subscription_updated': {
      const { plan, amount, reference } = fact;
      return { ...about, type: fact.type, data: { plan, amount: dollars(amount), reference } };
    }
    default:
      return null;
  }
};

const ofProject: Describe = (event, rows) => {
  const fact = factOf<ProjectFact>(event);
  const id = idOf(event);
  const organizationId =
    fact.type === 'project.created' ? fact.organization_id : (rows.get(projectOwners, id)?.organizationId ?? '');
  const about = { organizationId, projectId: id, resourceId: id };
  switch (fact.type) {
    // The SDK calls a project's name its title; both are there.
    case 'project.created':
      return { ...about, type: fact.type, data: { name: fact.name, title: fact.name } };
    case 'project.updated':
      return { ...about, type: fact.type, changesRequested: { name: fact.name, title: fact.name } };
    case 'project.archived':
      return { ...about, type: fact.type };
    default:
      return null;
  }
};

const keyFields = (key: {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
}): Fields => ({ name: key.name, scopes: key.permissions, expires_at: secondsOrNull(key.expiresAt) });

const ofProjectKey: Describe = (event, rows) => {
  const fact = factOf<ProjectKeyFact>(event);
  const id = idOf(event);
  const isNew = fact.type === 'project_key.created';
  const projectId = isNew ? fact.project_id : (rows.get(projectKeyOwners, id)?.projectId ?? '');
  const organizationId = isNew ? fact.organization_id : (rows.get(projectOwners, projectId)?.organizationId ?? '');
  const about = { organizationId, projectId, resourceId: id };
  switch (fact.type) {
    case 'project_key.created':
      return { ...about, type: 'api_key.created', data: keyFields({ ...fact, expiresAt: fact.expires_at }) };
    case 'project_key.updated': {
      const before = rows.get(projectKeyRows, `${projectId}:${id}`);
      const now = keyFields({ ...fact, expiresAt: fact.expires_at });
      return { ...about, type: 'api_key.updated', changesRequested: changed(before && keyFields(before.data), now) };
    }
    case 'project_key.revoked':
      return { ...about, type: 'api_key.deleted', data: { reason: fact.reason } };
    case 'project_key.suspended':
      return { ...about, type: 'api_key.suspended' };
    case 'project_key.reactivated':
      return { ...about, type: 'api_key.reactivated' };
    case 'project_key.expired':
      return { ...about, type: 'api_key.expired' };
    case 'project_key.value_replayed':
      return { ...about, type: 'api_key.value_replayed' };
  }
};

const ofAdminKey: Describe = (event, rows) => {
  const fact = factOf<AdminKeyFact>(event);
  const id = idOf(event);
  const organizationId =
    fact.type === 'admin_key.created' ? fact.organization_id : (rows.get(adminKeyOwners, id)?.organizationId ?? '');
  const about = { organizationId, resourceId: id };
  switch (fact.type) {
    case 'admin_key.created':
      return { ...about, type: 'admin_api_key.created', data: keyFields({ ...fact, expiresAt: fact.expires_at }) };
    case 'admin_key.deleted':
      return { ...about, type: 'admin_api_key.deleted' };
    // Unspecified: contract I names one type for the repeated value of a key, of whichever kind; the id tells them apart.
    case 'admin_key.value_replayed':
      return { ...about, type: 'api_key.value_replayed' };
  }
};

const ofOAuthClient: Describe = (event, rows) => {
  const fact = factOf<OAuthClientFact>(event);
  const id = idOf(event);
  if (fact.type === 'oauth_client.created') {
    const { name, permissions, organization_id: organizationId } = fact;
    return { type: fact.type, organizationId, resourceId: id, data: { name, scopes: permissions } };
  }
  const organizationId = rows.get(oauthClientRows, id)?.data.organizationId ?? '';
  return { type: fact.type, organizationId, resourceId: id };
};

/** What a policy says but for its rule, of which only a published version's id is told (contract C.1). */
const policyFields = (policy: { readonly name: string; readonly description: string } & TermsFields): Fields => {
  const { name, description, direction, mode, scope, project_ids, match_threshold_basis_points } = policy;
  return { name, description, direction, mode, scope, project_ids, match_threshold_basis_points };
};

const ofPolicy: Describe = (event, rows) => {
  const fact = factOf<PolicyFact>(event);
  const id = idOf(event);
  const organizationId =
    fact.type === 'policy.created' ? fact.organization_id : (rows.get(policyOwners, id)?.organizationId ?? '');
  const about = { type: fact.type, organizationId, resourceId: id };
  switch (fact.type) {
    case 'policy.created':
      return { ...about, data: policyFields(fact) };
    case 'policy.updated': {
      const before = rows.get(policyRows, policyKeyOf(organizationId, id))?.data;
      const fields = before && policyFields({ ...before, ...fieldsOf(before.draft) });
      const rule = before?.draft.rule === fact.rule ? {} : { rule_changed: true };
      return { ...about, changesRequested: { ...changed(fields, policyFields(fact)), ...rule } };
    }
    case 'policy.published': {
      const { version, version_id, mode } = fact;
      return { ...about, data: { version, version_id, mode } };
    }
    default:
      return about;
  }
};

const ofDenial: Describe = (event) => {
  const { credential_id: resourceId, project_id: projectId, ...denied } = factOf<AccessDenied>(event);
  const stream = idOf(event);
  return {
    type: 'access.denied',
    // The day follows the organization in the stream's name.
    organizationId: stream.slice(0, stream.lastIndexOf('_')),
    projectId,
    resourceId,
    data: {
      credential_type: denied.credential_type,
      route: denied.route,
      code: denied.code,
      count: denied.count,
      first_at: secondsOrNull(denied.first_at),
      last_at: secondsOrNull(denied.last_at),
    },
  };
};

/** By the category of the streams that are shown. */
export const describe: Readonly<Record<string, Describe>> = {
  organization: ofOrganization,
  project: ofProject,
  projectKey: ofProjectKey,
  adminKey: ofAdminKey,
  oauthClient: ofOAuthClient,
  policy: ofPolicy,
  denial: ofDenial,
};
