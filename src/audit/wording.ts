import { createHash } from 'node:crypto';
import type { AccessDenied } from '../domain/key/access-events.ts';
import type { AdminKeyEvent } from '../domain/key/admin-key.ts';
import type { ProjectKeyEvent } from '../domain/key/project-key.ts';
import type { OAuthClientEvent } from '../domain/oauth/oauth-client.ts';
import type { OrganizationEvent } from '../domain/organization/organization.ts';
import type { PolicyEvent } from '../domain/policy/policy-events.ts';
import type { TermsFields } from '../domain/policy/policy-terms.ts';
import type { ProjectEvent } from '../domain/project/project.ts';
import type { SpendLimit } from '../domain/usage/spend-limit.ts';
import type { DomainEvent } from '../kernel/aggregate/aggregate.ts';
import type { Entry, Fields, Subject, Wording, Wordings } from './entry.ts';

const secondsOrNull = (at: number | null): number | null => (at === null ? null : Math.floor(at / 1000));
const dollars = (micros: number): number => micros / 1_000_000;

const changed = (before: Fields | undefined, now: Fields): Fields =>
  Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(before?.[name]) !== JSON.stringify(value)),
  );

const shownLimit = (limit: SpendLimit | null): Fields | null => limit && { ...limit, amount: dollars(limit.amount) };

const spendLimited = ({ limit }: { readonly limit: SpendLimit | null }) =>
  ({ type: 'spend_limit.updated', changesRequested: { spend_limit: shownLimit(limit) } }) as const;

const organization: Wording<OrganizationEvent> = {
  place: (id) => ({ organizationId: id, resourceId: id }),
  words: {
    'organization.created': ({ type, name }) => ({ type, data: { name } }),
    'organization.suspended': 'organization.suspended',
    'organization.reactivated': 'organization.reactivated',
    'organization.closed': 'organization.closed',
    'organization.tier_changed': ({ type, from, to }) => ({ type, data: { from, to } }),
    'billing.credited': ({ type, kind, micro_dollars, reference }) => ({
      type,
      data: { kind, amount: dollars(micro_dollars), reference },
    }),
    'billing.refunded': ({ type, micro_dollars, reference }) => ({
      type,
      data: { amount: dollars(micro_dollars), reference },
    }),
    'billing.subscription_updated': ({ type, plan, micro_dollars, reference }) => ({
      type,
      data: { plan, amount: dollars(micro_dollars), reference },
    }),
    'organization.spend_limited': spendLimited,
    'organization.admin_key_issued': null,
    'organization.admin_key_ended': null,
    'organization.policy_issued': null,
    'organization.policy_ended': null,
    'organization.oauth_client_issued': null,
    'organization.oauth_client_ended': null,
  },
};

const project: Wording<ProjectEvent> = {
  place: (id, { organizationId }) => ({ organizationId, projectId: id, resourceId: id }),
  words: {
    // The SDK calls a project's name its title; both are there.
    'project.created': ({ type, name, organization_id }) => ({
      type,
      data: { name, title: name },
      subject: { organizationId: organization_id },
    }),
    'project.updated': ({ type, name }) => ({ type, changesRequested: { name, title: name } }),
    'project.models_allowed': ({ models }) => ({
      type: 'project.updated',
      changesRequested: { allowed_models: models },
    }),
    'project.model_permissions_updated': ({ mode, models }) => ({
      type: 'model_permissions.updated',
      changesRequested: { mode, model_ids: models },
    }),
    'project.models_aliased': ({ aliases }) => ({
      type: 'project.updated',
      changesRequested: { model_aliases: aliases },
    }),
    'project.rate_limit_updated': ({ type: _, ...row }) => ({
      type: 'rate_limit.updated',
      changesRequested: {
        model: row.model,
        max_requests_per_1_minute: row.requests_per_minute,
        max_tokens_per_1_minute: row.tokens_per_minute,
        max_requests_per_1_day: row.requests_per_day,
      },
    }),
    'project.spend_limited': spendLimited,
    'project.archived': 'project.archived',
    'project.key_issued': null,
    'project.key_ended': null,
  },
};

const keyFields = (key: {
  readonly name: string;
  readonly permissions: readonly string[];
  readonly expires_at: number | null;
}): Fields => ({ name: key.name, scopes: key.permissions, expires_at: secondsOrNull(key.expires_at) });

const projectKey: Wording<ProjectKeyEvent> = {
  words: {
    'project_key.created': (event) => {
      const fields = keyFields(event);
      const subject = { organizationId: event.organization_id, projectId: event.project_id, fields };
      const from = event.rotated_from === undefined ? {} : { rotated_from: event.rotated_from };
      const limits = event.limits === undefined ? {} : { limits: event.limits };
      const spend = event.spend_limit === undefined ? {} : { spend_limit: shownLimit(event.spend_limit) };
      return { type: 'api_key.created', data: { ...fields, ...from, ...limits, ...spend }, subject };
    },
    'project_key.updated': (event, known) => {
      const fields = keyFields(event);
      return {
        type: 'api_key.updated',
        changesRequested: changed(known.fields, fields),
        subject: { ...known, fields },
      };
    },
    'project_key.rotated': ({ successor_id, expires_at: end }, known) => {
      const expires_at = secondsOrNull(end);
      const subject = { ...known, fields: { ...known.fields, expires_at } };
      return { type: 'api_key.rotated', data: { successor_id, expires_at }, subject };
    },
    'project_key.limits_updated': ({ type: _, ...limits }) => ({
      type: 'rate_limit.updated',
      changesRequested: { limits },
    }),
    'project_key.spend_limited': spendLimited,
    'project_key.suspended': 'api_key.suspended',
    'project_key.reactivated': 'api_key.reactivated',
    'project_key.expired': 'api_key.expired',
    'project_key.revoked': ({ reason }) => ({ type: 'api_key.deleted', data: { reason } }),
    'project_key.value_replayed': 'api_key.value_replayed',
  },
};

const adminKey: Wording<AdminKeyEvent> = {
  words: {
    'admin_key.created': (event) => ({
      type: 'admin_api_key.created',
      data: keyFields(event),
      subject: { organizationId: event.organization_id },
    }),
    'admin_key.deleted': 'admin_api_key.deleted',
    // Unspecified: contract I has one type for the repeated value of any kind of key.
    'admin_key.value_replayed': 'api_key.value_replayed',
  },
};

const oauthClient: Wording<OAuthClientEvent> = {
  words: {
    'oauth_client.created': ({ type, name, permissions, organization_id }) => ({
      type,
      data: { name, scopes: permissions },
      subject: { organizationId: organization_id },
    }),
    'oauth_client.deleted': 'oauth_client.deleted',
  },
};

/** Without the rule: a published version shows only its id (contract C.6). */
const policyFields = (policy: { readonly name: string; readonly description: string } & TermsFields): Fields => {
  const { name, description, direction, mode, scope, project_ids, match_threshold_basis_points } = policy;
  return { name, description, direction, mode, scope, project_ids, match_threshold_basis_points };
};

const digestOf = (rule: string): string => createHash('sha256').update(rule).digest('base64url');

const policy: Wording<PolicyEvent> = {
  words: {
    'policy.created': (event) => {
      const fields = policyFields(event);
      const subject = { organizationId: event.organization_id, fields, ruleDigest: digestOf(event.rule) };
      return { type: event.type, data: fields, subject };
    },
    'policy.updated': (event, known) => {
      const fields = policyFields(event);
      const ruleDigest = digestOf(event.rule);
      const rule = ruleDigest === known.ruleDigest ? {} : { rule_changed: true };
      return {
        type: event.type,
        changesRequested: { ...changed(known.fields, fields), ...rule },
        subject: { ...known, fields, ruleDigest },
      };
    },
    'policy.published': ({ type, version, version_id, mode }) => ({ type, data: { version, version_id, mode } }),
    'policy.paused': 'policy.paused',
    'policy.resumed': 'policy.resumed',
    'policy.deleted': 'policy.deleted',
  },
};

const denial: Wording<AccessDenied> = {
  place: (id, _, event) => ({
    organizationId: id.slice(0, id.lastIndexOf('_')),
    projectId: event.project_id,
    resourceId: event.credential_id,
  }),
  words: {
    'access.denied': ({ type, credential_type, route, code, count, first_at, last_at }) => {
      const times = { first_at: secondsOrNull(first_at), last_at: secondsOrNull(last_at) };
      return { type, data: { credential_type, route, code, count, ...times } };
    },
  },
};

const wordings: Wordings = {
  organization,
  project,
  projectKey,
  adminKey,
  oauthClient,
  policy,
  denial,
  idempotency: null,
  oauthToken: null,
};

const worded = new Map(
  Object.entries(wordings).flatMap(([category, wording]): [string, Wording<never>][] =>
    wording ? [[category, wording]] : [],
  ),
);

export const auditedCategories: readonly string[] = [...worded.keys()];

/** For an event whose resource is unknown. */
const nobodys: Subject = { organizationId: '' };

export interface Described {
  readonly entry: Entry | null;
  /** The new subject of the resource, if it has changed. */
  readonly subject?: Subject | undefined;
}

/** @param id the name of its stream after the category @param known the subject of its resource */
export const describe = (category: string, id: string, event: DomainEvent, known: Subject = nobodys): Described => {
  const { words, place } = worded.get(category) as Wording<DomainEvent>;
  const word = words[event.type] ?? null;
  if (word === null) return { entry: null };
  const { subject, ...rest } = typeof word === 'string' ? { type: word, subject: undefined } : word(event, known);
  const belongs = subject ?? known;
  const at = place?.(id, belongs, event) ?? {
    organizationId: belongs.organizationId,
    projectId: belongs.projectId,
    resourceId: id,
  };
  return { entry: { ...at, ...rest }, subject };
};
