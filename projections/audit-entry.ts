import { createHash } from 'node:crypto';
import type { AccessDenied } from '../src/domain/access-facts.ts';
import type { AdminKeyFact } from '../src/domain/admin-key.ts';
import type { OAuthClientFact } from '../src/domain/oauth-client.ts';
import type { OrganizationFact } from '../src/domain/organization.ts';
import type { PolicyFact } from '../src/domain/policy-facts.ts';
import type { TermsFields } from '../src/domain/policy-terms.ts';
import type { ProjectFact } from '../src/domain/project.ts';
import type { ProjectKeyFact } from '../src/domain/project-key.ts';
import type { Recorded } from '../src/kernel/store.ts';
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

/** What is remembered of a resource, so that a later event can be said to belong somewhere and to have changed something. */
export interface Subject {
  readonly organizationId: string;
  /** Of a project key. */
  readonly projectId?: string;
  /** As they were shown last. */
  readonly fields?: Fields;
  /** Of a policy's rule. */
  readonly ruleDigest?: string;
}

export interface Described {
  /** Null for an event that is the machinery of another: an admission, a reservation. */
  readonly entry: Entry | null;
  /** What is to be remembered of the resource from now on, where that has changed. */
  readonly subject?: Subject;
}

type Describe = (event: Recorded, known: Subject | undefined) => Described;

/** Where an event belongs whose resource never came: to nobody. */
const nobodys: Subject = { organizationId: '' };

const secondsOrNull = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000));
/** Micro-dollars as dollars. */
const dollars = (micros: number): number => micros / 1_000_000;

/** Those of the fields that are not what they were. */
const changed = (before: Fields | undefined, now: Fields): Fields =>
  Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(before?.[name]) !== JSON.stringify(value)),
  );

const ofOrganization: Describe = (event) => ({ entry: organizationEntry(event) });

const organizationEntry = (event: Recorded): Entry | null => {
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

const ofProject: Describe = (event, known = nobodys) => {
  const fact = factOf<ProjectFact>(event);
  const id = idOf(event);
  const subject = fact.type === 'project.created' ? { organizationId: fact.organization_id } : known;
  const about = { organizationId: subject.organizationId, projectId: id, resourceId: id };
  switch (fact.type) {
    // The SDK calls a project's name its title; both are there.
    case 'project.created':
      return { subject, entry: { ...about, type: fact.type, data: { name: fact.name, title: fact.name } } };
    case 'project.updated':
      return { entry: { ...about, type: fact.type, changesRequested: { name: fact.name, title: fact.name } } };
    case 'project.archived':
      return { entry: { ...about, type: fact.type } };
    default:
      return { entry: null };
  }
};

const keyFields = (key: {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expiresAt: number | null;
}): Fields => ({ name: key.name, scopes: key.permissions, expires_at: secondsOrNull(key.expiresAt) });

const ofProjectKey: Describe = (event, known = nobodys) => {
  const fact = factOf<ProjectKeyFact>(event);
  const resourceId = idOf(event);
  const about = { organizationId: known.organizationId, projectId: known.projectId ?? '', resourceId };
  switch (fact.type) {
    case 'project_key.created': {
      const { organization_id: organizationId, project_id: projectId } = fact;
      const fields = keyFields({ ...fact, expiresAt: fact.expires_at });
      const entry = { organizationId, projectId, resourceId, type: 'api_key.created', data: fields } as const;
      return { entry, subject: { organizationId, projectId, fields } };
    }
    case 'project_key.updated': {
      const fields = keyFields({ ...fact, expiresAt: fact.expires_at });
      const entry = { ...about, type: 'api_key.updated', changesRequested: changed(known.fields, fields) } as const;
      return { entry, subject: { ...known, fields } };
    }
    case 'project_key.revoked':
      return { entry: { ...about, type: 'api_key.deleted', data: { reason: fact.reason } } };
    case 'project_key.suspended':
      return { entry: { ...about, type: 'api_key.suspended' } };
    case 'project_key.reactivated':
      return { entry: { ...about, type: 'api_key.reactivated' } };
    case 'project_key.expired':
      return { entry: { ...about, type: 'api_key.expired' } };
    case 'project_key.value_replayed':
      return { entry: { ...about, type: 'api_key.value_replayed' } };
  }
};

const ofAdminKey: Describe = (event, known = nobodys) => {
  const fact = factOf<AdminKeyFact>(event);
  const resourceId = idOf(event);
  const about = { organizationId: known.organizationId, resourceId };
  switch (fact.type) {
    case 'admin_key.created': {
      const { organization_id: organizationId } = fact;
      const data = keyFields({ ...fact, expiresAt: fact.expires_at });
      return {
        entry: { organizationId, resourceId, type: 'admin_api_key.created', data },
        subject: { organizationId },
      };
    }
    case 'admin_key.deleted':
      return { entry: { ...about, type: 'admin_api_key.deleted' } };
    // Unspecified: contract I names one type for the repeated value of a key, of whichever kind; the id tells them apart.
    case 'admin_key.value_replayed':
      return { entry: { ...about, type: 'api_key.value_replayed' } };
  }
};

const ofOAuthClient: Describe = (event, known = nobodys) => {
  const fact = factOf<OAuthClientFact>(event);
  const resourceId = idOf(event);
  if (fact.type === 'oauth_client.created') {
    const { name, permissions, organization_id: organizationId } = fact;
    const entry = { type: fact.type, organizationId, resourceId, data: { name, scopes: permissions } };
    return { entry, subject: { organizationId } };
  }
  return { entry: { type: fact.type, organizationId: known.organizationId, resourceId } };
};

/** What a policy says but for its rule, of which only a published version's id is told (contract C.1). */
const policyFields = (policy: { readonly name: string; readonly description: string } & TermsFields): Fields => {
  const { name, description, direction, mode, scope, project_ids, match_threshold_basis_points } = policy;
  return { name, description, direction, mode, scope, project_ids, match_threshold_basis_points };
};

const digestOf = (rule: string): string => createHash('sha256').update(rule).digest('base64url');

const ofPolicy: Describe = (event, known = nobodys) => {
  const fact = factOf<PolicyFact>(event);
  const about = { organizationId: known.organizationId, resourceId: idOf(event) };
  switch (fact.type) {
    case 'policy.created': {
      const { organization_id: organizationId } = fact;
      const fields = policyFields(fact);
      const entry = { ...about, organizationId, type: fact.type, data: fields };
      return { entry, subject: { organizationId, fields, ruleDigest: digestOf(fact.rule) } };
    }
    case 'policy.updated': {
      const fields = policyFields(fact);
      const ruleDigest = digestOf(fact.rule);
      const rule = ruleDigest === known.ruleDigest ? {} : { rule_changed: true };
      const entry = { ...about, type: fact.type, changesRequested: { ...changed(known.fields, fields), ...rule } };
      return { entry, subject: { ...known, fields, ruleDigest } };
    }
    case 'policy.published': {
      const { version, version_id, mode } = fact;
      return { entry: { ...about, type: fact.type, data: { version, version_id, mode } } };
    }
    default:
      return { entry: { ...about, type: fact.type } };
  }
};

const ofDenial: Describe = (event) => {
  const { credential_id: resourceId, project_id: projectId, ...denied } = factOf<AccessDenied>(event);
  const stream = idOf(event);
  const entry = {
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
  } as const;
  return { entry };
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
