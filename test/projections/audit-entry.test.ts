import { expect, describe as group, test } from 'vitest';
import { type AuditType, auditTypes, describe } from '../../projections/audit-entry.ts';
import { compile } from '../../src/kernel/chart.ts';
import type { Recorded } from '../../src/kernel/store.ts';
import { aggregates } from '../support/all-aggregates.ts';

/** Under which name each fact is shown (contract C.1), or that it is not: it belongs to another fact, or to nobody's history. */
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
  'project.archived': 'project.archived',
  'project.key_issued': null,
  'project.key_ended': null,
  'project_key.created': 'api_key.created',
  'project_key.updated': 'api_key.updated',
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
  [...compile(aggregate).facts].map((type) => ({ type, category: aggregate.category })),
);

group('the facts of every aggregate', () => {
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
    const event = { stream: `${category}-thing_1`, type, data } as unknown as Recorded;
    const entry = describe[category]?.(event, undefined).entry ?? null;
    expect(entry?.type ?? null).toBe(shownAs[type]);
    if (entry) expect(entry.resourceId).toBe('thing_1');
  });
});

test('every name of an entry has a fact, but for those that nothing can cause yet', () => {
  const named = new Set(Object.values(shownAs));
  const unnamed = auditTypes.filter((type) => !named.has(type));
  expect(unnamed).toEqual(['access.denied', 'organization.updated']);
});
