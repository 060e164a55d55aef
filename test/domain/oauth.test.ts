import { expect, test } from 'vitest';
import { type OAuthClientEvent, oauthClient } from '../../src/domain/oauth/oauth-client.ts';
import { type OAuthTokenEvent, oauthToken, tokenSeconds } from '../../src/domain/oauth/oauth-token.ts';
import { given } from '../support/given.ts';

const secret = { digest: 'd', pepperId: 'p1' } as const;

test('a client is made once and deleted once', () => {
  const input = {
    organizationId: 'org_1',
    name: 'c',
    permissions: ['projects:read'],
    redactedValue: 'gwo_abc...wxyz',
    ...secret,
    at: 100,
  } as const;
  const created: OAuthClientEvent = {
    type: 'oauth_client.created',
    organization_id: 'org_1',
    name: 'c',
    permissions: ['projects:read'],
    created_at: 100,
    digest: 'd',
    pepper_id: 'p1',
    redacted_value: 'gwo_abc...wxyz',
  };
  const deleted: OAuthClientEvent = { type: 'oauth_client.deleted' };
  given(oauthClient, []).when('create', input).then([created]).leaves({ status: 'active' });
  given(oauthClient, [created]).when('create', input).refuses({ status: 'active' });
  given(oauthClient, [created]).when('delete', undefined).then([deleted]).leaves({ status: 'deleted' });
  given(oauthClient, [created, deleted]).when('delete', undefined).then([]);
  given(oauthClient, []).when('delete', undefined).then([]);
  const { at, ...data } = input;
  expect(given(oauthClient, [created]).state.data).toEqual({ ...data, createdAt: at });
});

test('a token works for an hour and is revoked once, while it works', () => {
  const input = { clientId: 'oac_1', organizationId: 'org_1', scope: ['projects:read'], ...secret, at: 100 } as const;
  const end = 2000 + tokenSeconds * 1000;
  const issued: OAuthTokenEvent = {
    type: 'oauth_token.issued',
    client_id: 'oac_1',
    organization_id: 'org_1',
    scope: ['projects:read'],
    issued_at: 100,
    expires_at: end,
    digest: 'd',
    pepper_id: 'p1',
  };
  const revoked: OAuthTokenEvent = { type: 'oauth_token.revoked' };
  given(oauthToken, []).when('issue', input).then([issued]).leaves({ status: 'active' });
  expect(given(oauthToken, [issued]).state.data).toEqual({
    clientId: 'oac_1',
    organizationId: 'org_1',
    scope: ['projects:read'],
    expiresAt: end,
  });
  given(oauthToken, [issued])
    .when('revoke', { at: end - 1 })
    .then([revoked])
    .leaves({ status: 'revoked' });
  given(oauthToken, [issued]).when('revoke', { at: end }).then([]);
  given(oauthToken, [issued, revoked]).when('revoke', { at: 101 }).then([]);
  given(oauthToken, []).when('revoke', { at: 0 }).then([]);
});
