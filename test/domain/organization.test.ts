import { describe, expect, test } from 'vitest';
import {
  maxAdminKeys,
  maxPolicies,
  type OrganizationEvent,
  organization,
} from '../../src/domain/organization/organization.ts';
import { given } from '../support/given.ts';

const created: OrganizationEvent = { type: 'organization.created', name: 'Acme', created_at: 1 };
const suspended: OrganizationEvent = { type: 'organization.suspended' };
const issued = (id: string, writes = true, expires: number | null = null): OrganizationEvent => ({
  type: 'organization.admin_key_issued',
  key_id: id,
  writes_admin_keys: writes,
  expires_at: expires,
});
const ended = (id: string): OrganizationEvent => ({ type: 'organization.admin_key_ended', key_id: id });

describe('the life of an organization', () => {
  test('goes from active to suspended and back, and ends closed', () => {
    given(organization, []).when('create', { name: 'Acme', at: 1 }).then([created]).leaves({ status: 'active' });
    given(organization, [created]).when('suspend', undefined).then([suspended]).leaves({ status: 'suspended' });
    given(organization, [created, suspended]).when('reactivate', undefined).leaves({ status: 'active' });
    given(organization, [created]).when('close', undefined).leaves({ status: 'closed' });
    given(organization, [created, suspended]).when('close', undefined).leaves({ status: 'closed' });
    given(organization, [created, { type: 'organization.closed' }])
      .when('reactivate', undefined)
      .refuses({ status: 'closed' });
    given(organization, [created]).when('reactivate', undefined).refuses({ status: 'active' });
  });
  test('begins once, whatever has become of it since', () => {
    const first = { name: 'Acme', at: 1 };
    given(organization, []).when('createOnce', first).then([created]);
    for (const state of [[], [suspended], [{ type: 'organization.closed' } as const]]) {
      given(organization, [{ ...created, created_at: 0 }, ...state])
        .when('createOnce', first)
        .then([]);
    }
    given(organization, [created]).when('create', first).refuses({ status: 'active' });
  });
});

describe('the spend limit of an organization', () => {
  const limit = { amount: 5_000_000, interval: 'month' } as const;
  const limited: OrganizationEvent = { type: 'organization.spend_limited', limit };
  test('is set and taken away, once', () => {
    given(organization, [created])
      .when('limitSpend', { limit })
      .then([limited])
      .leaves({ data: { spendLimit: limit } });
    given(organization, [created, limited])
      .when('limitSpend', { limit: { ...limit } })
      .then([]);
    given(organization, [created, limited])
      .when('limitSpend', { limit: null })
      .then([{ type: 'organization.spend_limited', limit: null }])
      .leaves({ data: { spendLimit: null } });
    given(organization, [created])
      .when('limitSpend', { limit: null })
      .refuses({ refusal: { code: 'spend_limit_not_found' } });
  });
  test('changes only while it is active', () => {
    for (const [status, event] of [
      ['suspended', suspended],
      ['closed', { type: 'organization.closed' }],
    ] as const)
      given(organization, [created, limited, event]).when('limitSpend', { limit: null }).refuses({ status });
  });
});

describe('issueAdminKey', () => {
  const input = { keyId: 'akey_1', permissions: ['admin_api_keys:write'], expiresAt: null };
  test('admits a key and remembers whether it can make others', () => {
    given(organization, [created])
      .when('issueAdminKey', input)
      .then([issued('akey_1')]);
    given(organization, [created])
      .when('issueAdminKey', { ...input, permissions: ['projects:read'] })
      .then([issued('akey_1', false)]);
  });
  test('admits the same key once', () => {
    given(organization, [created, issued('akey_1')])
      .when('issueAdminKey', input)
      .then([]);
  });
  test('admits the last of the thousand and not one more, until another is deleted; the operator’s always', () => {
    expect(maxAdminKeys).toBe(1000);
    const upTo = (n: number) => [created, ...Array.from({ length: n }, (_, i) => issued(`key_${i}`, false, 1))];
    const full = upTo(1000);
    given(organization, upTo(999))
      .when('issueAdminKey', input)
      .then([issued('akey_1')]);
    given(organization, full)
      .when('issueAdminKey', input)
      .refuses({ refusal: { code: 'admin_key_limit_reached', status: 409 } });
    given(organization, full)
      .when('issueAdminKey', { ...input, keyId: 'key_7' })
      .then([]);
    given(organization, [...full, ended('key_7')])
      .when('issueAdminKey', input)
      .then([issued('akey_1')]);
    given(organization, full)
      .when('bootstrapAdminKey', input)
      .then([issued('akey_1')]);
  });
  test('refuses a suspended or closed organization', () => {
    given(organization, [created, suspended]).when('issueAdminKey', input).refuses({ status: 'suspended' });
    given(organization, [created, { type: 'organization.closed' }])
      .when('issueAdminKey', input)
      .refuses({ status: 'closed' });
  });
});

describe('endAdminKey', () => {
  const last = { refusal: { code: 'last_admin_key' } };
  test('withdraws a key while another can make keys', () => {
    given(organization, [created, issued('a'), issued('b')])
      .when('endAdminKey', { keyId: 'a', at: 10, unmade: [] })
      .then([ended('a')]);
  });
  test('refuses to withdraw the last that can', () => {
    given(organization, [created, issued('a'), issued('b', false)])
      .when('endAdminKey', { keyId: 'a', at: 10, unmade: [] })
      .refuses(last);
  });
  test('does not count a key whose time is over, to the millisecond', () => {
    const history = [created, issued('a'), issued('b', true, 10)];
    given(organization, history)
      .when('endAdminKey', { keyId: 'a', at: 9, unmade: [] })
      .then([ended('a')]);
    given(organization, history).when('endAdminKey', { keyId: 'a', at: 10, unmade: [] }).refuses(last);
  });
  test('does not count a key that was admitted and never made', () => {
    given(organization, [created, issued('a'), issued('b')])
      .when('endAdminKey', { keyId: 'a', at: 10, unmade: ['b'] })
      .refuses(last);
  });
  test('of a key that is not there changes nothing', () => {
    given(organization, [created]).when('endAdminKey', { keyId: 'a', at: 10, unmade: [] }).then([]);
  });
});

describe('issuePolicy and endPolicy', () => {
  const admitted = (n: number): OrganizationEvent => ({ type: 'organization.policy_issued', policy_id: `pol_${n}` });
  const left = (n: number): OrganizationEvent => ({ type: 'organization.policy_ended', policy_id: `pol_${n}` });
  const upTo = (n: number): OrganizationEvent[] => Array.from({ length: n }, (_, i) => admitted(i));
  const issue = (history: readonly OrganizationEvent[]) =>
    given(organization, history).when('issuePolicy', { policyId: 'pol_7777' });

  test('admit a policy once', () => {
    issue([created]).then([admitted(7777)]);
    issue([created, admitted(7777)]).then([]);
  });
  test('admit the last of the hundred and not one more, until another has ended', () => {
    expect(maxPolicies).toBe(100);
    issue([created, ...upTo(99)]).then([admitted(7777)]);
    issue([created, ...upTo(100)]).refuses({ refusal: { code: 'policy_limit_reached' } });
    issue([created, ...upTo(100), left(50)]).then([admitted(7777)]);
    issue([created, ...upTo(99), admitted(7777)]).then([]);
  });
  test('admit none to a suspended or closed organization', () => {
    issue([created, suspended]).refuses({ status: 'suspended' });
    issue([created, { type: 'organization.closed' }]).refuses({ status: 'closed' });
  });
  test('end an admission in any state, and one that is not there never', () => {
    for (const state of [[], [suspended], [{ type: 'organization.closed' } as const]]) {
      const history = [created, admitted(1), ...state];
      given(organization, history)
        .when('endPolicy', { policyId: 'pol_1' })
        .then([left(1)]);
      given(organization, history).when('endPolicy', { policyId: 'pol_2' }).then([]);
    }
  });
});

describe('dropAdminKeys', () => {
  const closed: OrganizationEvent = { type: 'organization.closed' };
  test('withdraws so many, the last that can make others among them', () => {
    const keys = [created, issued('a'), issued('b'), issued('c', false)];
    given(organization, [...keys, closed])
      .when('dropAdminKeys', { most: 2 })
      .then([ended('a'), ended('b')]);
    given(organization, [...keys, closed, ended('a'), ended('b')])
      .when('dropAdminKeys', { most: 2 })
      .then([ended('c')])
      .leaves({ status: 'closed' });
    expect(given(organization, [...keys, closed, ended('a'), ended('b'), ended('c')]).state.data.adminKeys.size).toBe(
      0,
    );
    given(organization, [created, closed]).when('dropAdminKeys', { most: 2 }).then([]);
  });
});
