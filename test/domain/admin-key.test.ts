import { expect, test } from 'vitest';
import { type AdminKeyEvent, adminKey } from '../../src/domain/key/admin-key.ts';
import { given } from '../support/given.ts';

const input = {
  organizationId: 'org_1',
  name: 'k',
  permissions: ['projects:read'],
  expiresAt: null,
  digest: 'd',
  pepperId: 'p1',
  redactedValue: 'gwa_abc...wxyz',
  at: 100,
} as const;
const created: AdminKeyEvent = {
  type: 'admin_key.created',
  organization_id: 'org_1',
  name: 'k',
  permissions: ['projects:read'],
  created_at: 100,
  expires_at: null,
  digest: 'd',
  pepper_id: 'p1',
  redacted_value: 'gwa_abc...wxyz',
};

test('a key is made once and deleted once', () => {
  given(adminKey, []).when('create', input).then([created]).leaves({ status: 'active' });
  given(adminKey, [created]).when('create', input).then([]);
  given(adminKey, [created])
    .when('create', { ...input, digest: 'other' })
    .refuses({ status: 'active' });
  given(adminKey, [created])
    .when('delete', undefined)
    .then([{ type: 'admin_key.deleted' }])
    .leaves({ status: 'deleted' });
  given(adminKey, [created, { type: 'admin_key.deleted' }])
    .when('delete', undefined)
    .then([]);
  given(adminKey, []).when('delete', undefined).then([]);
  expect(given(adminKey, [created]).state.data).toMatchObject({ name: 'k', createdAt: 100, digest: 'd' });
});

test('its expiry is in the future, to the millisecond', () => {
  given(adminKey, [])
    .when('create', { ...input, expiresAt: 100 })
    .refuses({ refusal: { code: 'expires_at_not_future' } });
  given(adminKey, [])
    .when('create', { ...input, expiresAt: 101 })
    .then([{ ...created, expires_at: 101 }]);
});
