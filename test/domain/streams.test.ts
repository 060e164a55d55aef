import { describe, expect, test } from 'vitest';
import { goneFrom, lasts, whose } from '../../src/domain/streams.ts';
import type { Metadata, Recorded } from '../../src/kernel/store/store.ts';

const id = '01jd7m3q8v5x2k9t4w6y0z1abc';
const metadata: Metadata = {
  at: 1,
  actor: { type: 'system', id: 'weir' },
  $correlationId: 'c',
  $causationId: 'c',
  v: 1,
};
const event = (stream: string, type: string, more: object = {}): Recorded => ({
  id: 'e',
  stream,
  type,
  data: {},
  metadata,
  revision: 0,
  position: 1n,
  ...more,
});

describe('an event is ours', () => {
  test.each([
    [`organization-org_${id}`, 'organization.created'],
    [`project-proj_${id}`, 'project.key_issued'],
    [`projectKey-key_${id}`, 'project_key.expired'],
    [`adminKey-akey_${id}`, 'admin_key.deleted'],
    [`policy-pol_${id}`, 'policy.paused'],
    [`oauthClient-oac_${id}`, 'oauth_client.created'],
    [`oauthToken-oat_${id}`, 'oauth_token.issued'],
    [`idempotency-${'0f'.repeat(32)}`, 'idempotency.reserved'],
    [`replay-key_${id}`, 'replay.sealed'],
    ['credentialUse-20261120', 'credential.used'],
    [`denial-org_${id}_20261120`, 'access.denied'],
    ['usage-20261120', 'usage.settled'],
    ['usageTotal-organizations', 'usage.totalled'],
    ['price-models', 'price.declared'],
    ['log-id', 'log.started'],
    ['log-secrets', 'log.secrets_known'],
    ['log-first_run', 'log.first_run_claimed'],
    ['log-version', 'log.written_by'],
  ])('on %s', (stream, type) => {
    expect(whose(event(stream, type))).toBe('ours');
  });

  test.each([
    [`organization-org_${id}`, 'organization.created', true],
    ['usage-20261120', 'usage.settled', false],
    ['usageTotal-organizations', 'usage.totalled', true],
    ['price-models', 'price.declared', true],
    ['policyDecision-20261120', 'policies.decided', false],
    ['credentialUse-20261120', 'credential.used', false],
    [`denial-org_${id}_20261120`, 'access.denied', false],
    [`oauthToken-oat_${id}`, 'oauth_token.issued', false],
    [`replay-key_${id}`, 'replay.sealed', false],
    ['invoice-77', 'organization.created', false],
  ])('and lasts, unless the store removes it: on %s', (stream, type, isSo) => {
    expect(lasts(event(stream, type))).toBe(isSo);
  });
});

describe('an event may be gone', () => {
  const days = 24 * 3600 * 1000;
  test.each([
    ['usage-20261120', 400],
    ['credentialUse-20261120', 400],
    [`denial-org_${id}_20261120`, 400],
    ['policyDecision-20261120', 30],
  ])('of %s after %i days, and a day is left to clocks that differ', (stream, kept) => {
    expect(goneFrom(stream)).toBe(Date.UTC(2026, 10, 20) + (kept - 1) * days);
  });

  test('at any time where what it held is over', () => {
    expect([`oauthToken-oat_${id}`, `replay-key_${id}`].map(goneFrom)).toEqual([0, 0]);
  });
});

describe('an event of another application', () => {
  test.each(['invoice-77', 'no dash', '$settings', '$$organization-1', '-', 'organizations-1'])(
    'on %s is foreign',
    (stream) => {
      expect(whose(event(stream, 'organization.created'))).toBe('foreign');
    },
  );

  test.each([
    ['an id of another grammar', event('organization-1', 'organization.created')],
    ['an id too long', event(`project-proj_${id}0`, 'project.created')],
    ['a letter that ids do not have', event(`project-proj_${id.replace('0', 'o')}`, 'project.created')],
    ['a type of its own', event(`project-proj_${id}`, 'ProjectCreated')],
    ['an event of another category', event(`project-proj_${id}`, 'policy.created')],
    ['no metadata', event(`project-proj_${id}`, 'project.created', { metadata: {} })],
    ['metadata that is no object', event(`project-proj_${id}`, 'project.created', { metadata: null })],
    ['metadata without a time', event(`project-proj_${id}`, 'project.created', { metadata: { ...metadata, at: '1' } })],
    [
      'metadata without an actor',
      event(`project-proj_${id}`, 'project.created', { metadata: { ...metadata, actor: 'me' } }),
    ],
  ])('with %s in a category of ours is passed over, and told', (_, planted) => {
    expect(whose(planted)).toBe('like-ours');
  });
});
