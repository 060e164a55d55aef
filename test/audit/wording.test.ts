import { expect, describe as group, test } from 'vitest';
import { type AuditType, auditTypes, type Wording } from '../../src/audit/entry.ts';
import { auditedCategories, describe } from '../../src/audit/wording.ts';
import type { ProjectEvent } from '../../src/domain/project/project.ts';
import type { DomainEvent } from '../../src/kernel/aggregate/aggregate.ts';
import { compile } from '../../src/kernel/aggregate/chart.ts';
import { aggregates } from '../support/all-aggregates.ts';

/** Under which name each event is shown (contract C.6), or that it is not: it belongs to another event, or to nobody's history. */
const shownAs: Readonly<Record<string, AuditType | null>> = {
  'organization.created': 'organization.created',
  'organization.suspended': 'organization.suspended',
  'organization.reactivated': 'organization.reactivated',
  'organization.closed': 'organization.closed',
  'organization.tier_changed': 'organization.tier_changed',
  'organization.admin_key_issued': null,
  'organization.admin_key_ended': null,
  'organization.policy_issued': null,
  'organization.policy_ended': null,
  'organization.oauth_client_issued': null,
  'organization.oauth_client_ended': null,
  'billing.credited': 'billing.credited',
  'billing.refunded': 'billing.refunded',
  'billing.subscription_updated': 'billing.subscription_updated',
  'project.created': 'project.created',
  'project.updated': 'project.updated',
  'project.models_allowed': 'project.updated',
  'project.model_permissions_updated': 'model_permissions.updated',
  'project.rate_limit_updated': 'rate_limit.updated',
  'project_key.limits_updated': 'rate_limit.updated',
  'organization.spend_limited': 'spend_limit.updated',
  'project.spend_limited': 'spend_limit.updated',
  'project_key.spend_limited': 'spend_limit.updated',
  'project.models_aliased': 'project.updated',
  'project.archived': 'project.archived',
  'project.key_issued': null,
  'project.key_ended': null,
  'project_key.created': 'api_key.created',
  'project_key.updated': 'api_key.updated',
  'project_key.rotated': 'api_key.rotated',
  'project_key.suspended': 'api_key.suspended',
  'project_key.reactivated': 'api_key.reactivated',
  'project_key.revoked': 'api_key.deleted',
  'project_key.expired': 'api_key.expired',
  'project_key.value_replayed': 'api_key.value_replayed',
  'admin_key.created': 'admin_api_key.created',
  'admin_key.deleted': 'admin_api_key.deleted',
  'admin_key.value_replayed': 'api_key.value_replayed',
  'policy.created': 'policy.created',
  'policy.updated': 'policy.updated',
  'policy.published': 'policy.published',
  'policy.paused': 'policy.paused',
  'policy.resumed': 'policy.resumed',
  'policy.deleted': 'policy.deleted',
  'oauth_client.created': 'oauth_client.created',
  'oauth_client.deleted': 'oauth_client.deleted',
  'oauth_token.issued': null,
  'oauth_token.revoked': null,
  'idempotency.reserved': null,
  'idempotency.completed': null,
  'idempotency.released': null,
};

const every = aggregates.flatMap((aggregate) =>
  [...compile(aggregate).events].map((type) => ({ type, category: aggregate.category })),
);

group('the events of every aggregate', () => {
  test('are all known here', () => {
    expect(Object.keys(shownAs).sort()).toEqual(every.map(({ type }) => type).sort());
  });
  test.each(every)('$type', ({ type, category }) => {
    const data = {
      rule: '',
      permissions: [],
      expires_at: null,
      project_ids: [],
      organization_id: 'org_1',
      project_id: 'proj_1',
    };
    const isTold = auditedCategories.includes(category);
    const entry = isTold ? describe(category, 'thing_1', { ...data, type } as DomainEvent).entry : null;
    expect(entry?.type ?? null).toBe(shownAs[type]);
    if (entry) expect(entry.resourceId).toBe('thing_1');
  });
});

test('every name of an entry has an event, but for those that nothing can cause yet', () => {
  const named = new Set(Object.values(shownAs));
  const unnamed = auditTypes.filter((type) => !named.has(type));
  expect(unnamed).toEqual(['access.denied', 'organization.updated']);
});

/** What must not compile is checked with the types of the project (`npm run check`). */
group('an event that nobody has worded does not compile', () => {
  const words = {
    'project.created': null,
    'project.updated': null,
    'project.models_allowed': null,
    'project.model_permissions_updated': null,
    'project.rate_limit_updated': null,
    'project.spend_limited': null,
    'project.models_aliased': null,
    'project.archived': null,
    'project.key_issued': null,
  };
  test('where it is missing', () => {
    // @ts-expect-error: project.key_ended is missing
    const wording: Wording<ProjectEvent> = { words };
    expect(wording.words['project.key_ended']).toBeUndefined();
  });
  test('where it is worded by a name that the audit log has not got', () => {
    // @ts-expect-error: entries have no type of this name
    const wording: Wording<ProjectEvent> = { words: { ...words, 'project.key_ended': 'project.key_gone' } };
    expect(auditTypes).not.toContain(wording.words['project.key_ended']);
  });
});
