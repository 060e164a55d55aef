import { describe, expect, test } from 'vitest';
import {
  longestGraceSeconds,
  type ProjectKeyEvent,
  projectKey,
  successorExpiry,
} from '../../src/domain/key/project-key.ts';
import { given } from '../support/given.ts';

const now = 1_000_000;
const input = {
  organizationId: 'org_1',
  projectId: 'proj_1',
  name: 'k',
  permissions: ['models:read'],
  expiresAt: null,
  digest: 'd',
  pepperId: 'p1',
  redactedValue: 'gwp_abc...wxyz',
  at: now,
} as const;
const created = (expiresAt: number | null = null): ProjectKeyEvent => ({
  type: 'project_key.created',
  organization_id: 'org_1',
  project_id: 'proj_1',
  name: 'k',
  permissions: ['models:read'],
  created_at: now,
  expires_at: expiresAt,
  digest: 'd',
  pepper_id: 'p1',
  redacted_value: 'gwp_abc...wxyz',
});
const suspended: ProjectKeyEvent = { type: 'project_key.suspended' };
const revoked: ProjectKeyEvent = { type: 'project_key.revoked', reason: 'requested' };
const expired: ProjectKeyEvent = { type: 'project_key.expired' };

describe('create', () => {
  test('makes an active key', () => {
    given(projectKey, []).when('create', input).then([created()]).leaves({ status: 'active' });
  });
  test('refuses an expiry that is not in the future, to the millisecond', () => {
    const notFuture = { refusal: { code: 'expires_at_not_future', param: 'expires_at' } };
    given(projectKey, [])
      .when('create', { ...input, expiresAt: now - 1 })
      .refuses(notFuture);
    given(projectKey, [])
      .when('create', { ...input, expiresAt: now })
      .refuses(notFuture);
    given(projectKey, [])
      .when('create', { ...input, expiresAt: now + 1 })
      .then([created(now + 1)]);
  });
  test('with the same secret is made once, with another refused', () => {
    given(projectKey, [created()]).when('create', input).then([]);
    given(projectKey, [created()])
      .when('create', { ...input, digest: 'other' })
      .refuses({ status: 'active' });
  });
});

describe('the spend limit of a key', () => {
  const limit = { amount: 5_000_000, interval: 'week' } as const;
  const limited: ProjectKeyEvent = { type: 'project_key.spend_limited', limit };
  const at = now + 1;
  test('is given at creation, or it has none', () => {
    given(projectKey, [])
      .when('create', { ...input, spendLimit: limit })
      .then([{ ...created(), spend_limit: limit } as ProjectKeyEvent])
      .leaves({ data: { spendLimit: limit } });
    given(projectKey, [])
      .when('create', { ...input, spendLimit: null })
      .then([created()]);
  });
  test('is changed alone or beside others, and taken away', () => {
    given(projectKey, [created()])
      .when('update', { spendLimit: limit, at })
      .then([limited])
      .leaves({ data: { spendLimit: limit } });
    given(projectKey, [created(), limited])
      .when('update', { spendLimit: { ...limit, interval: 'total' }, at })
      .then([{ ...limited, limit: { ...limit, interval: 'total' } } as ProjectKeyEvent]);
    given(projectKey, [created(), limited])
      .when('update', { spendLimit: null, at })
      .then([{ type: 'project_key.spend_limited', limit: null }])
      .leaves({ data: { spendLimit: null } });
    given(projectKey, [created(), limited])
      .when('update', { spendLimit: { ...limit }, at })
      .then([]);
    given(projectKey, [created(), limited]).when('update', { at }).then([]);
  });
  test('is that of the successor once there is one', () => {
    const rotated: ProjectKeyEvent = { type: 'project_key.rotated', successor_id: 'key_2', expires_at: now + 60_000 };
    // Also the one that it had itself: the successor may have another by now.
    for (const spendLimit of [null, limit])
      given(projectKey, [created(), limited, rotated])
        .when('update', { spendLimit, at })
        .refuses({ refusal: { code: 'api_key_rotated' } });
  });
  test('stays that of a key that has ended', () => {
    given(projectKey, [created(), revoked]).when('update', { spendLimit: limit, at }).refuses({ status: 'revoked' });
  });
});

describe('update', () => {
  const update = (fields: object): ProjectKeyEvent => ({
    type: 'project_key.updated',
    name: 'k',
    permissions: ['models:read'],
    expires_at: null,
    ...fields,
  });
  test('changes what is given and keeps the rest', () => {
    given(projectKey, [created()])
      .when('update', { name: 'new', at: now })
      .then([update({ name: 'new' })])
      .leaves({ status: 'active', data: { name: 'new' } });
    given(projectKey, [created(), suspended])
      .when('update', { expiresAt: now + 5, at: now })
      .then([update({ expires_at: now + 5 })])
      .leaves({ status: 'suspended' });
  });
  test('takes an expiry away', () => {
    given(projectKey, [created(now + 9)])
      .when('update', { expiresAt: null, at: now })
      .then([update({})]);
  });
  test('that changes nothing is no event', () => {
    given(projectKey, [created()])
      .when('update', { name: 'k', permissions: ['models:read'], at: now })
      .then([]);
  });
  test('refuses a past expiry, an expired and a revoked key', () => {
    given(projectKey, [created()])
      .when('update', { expiresAt: now, at: now })
      .refuses({ refusal: { code: 'expires_at_not_future' } });
    given(projectKey, [created(now + 5)])
      .when('update', { name: 'x', at: now + 5 })
      .refuses({ refusal: { code: 'api_key_expired', status: 409 } });
    given(projectKey, [created(), revoked]).when('update', { name: 'x', at: now }).refuses({ status: 'revoked' });
  });
});

describe('suspend and reactivate', () => {
  test('are each other’s reverse, and no-ops where they already hold', () => {
    given(projectKey, [created()]).when('suspend', { at: now }).then([suspended]).leaves({ status: 'suspended' });
    given(projectKey, [created(), suspended]).when('suspend', { at: now }).then([]);
    given(projectKey, [created(), suspended])
      .when('reactivate', { at: now })
      .then([{ type: 'project_key.reactivated' }])
      .leaves({ status: 'active' });
    given(projectKey, [created()]).when('reactivate', { at: now }).then([]);
  });
  test('refuse a key whose time is over before the sweeper has come', () => {
    const over = { refusal: { code: 'api_key_expired', status: 409 } };
    given(projectKey, [created(now + 5)])
      .when('suspend', { at: now + 5 })
      .refuses(over);
    given(projectKey, [created(now + 5), suspended])
      .when('reactivate', { at: now + 6 })
      .refuses(over);
    given(projectKey, [created(now + 5)])
      .when('suspend', { at: now + 4 })
      .then([suspended]);
  });
});

describe('revoke', () => {
  test('ends active, suspended and expired keys for good', () => {
    for (const history of [[created()], [created(), suspended], [created(now + 1), expired]]) {
      given(projectKey, history).when('revoke', { reason: 'requested' }).then([revoked]).leaves({ status: 'revoked' });
    }
    given(projectKey, [created(), revoked]).when('revoke', { reason: 'requested' }).then([]);
  });
});

describe('expire', () => {
  test('latches what the clock says, not before and not twice', () => {
    given(projectKey, [created(now + 5)])
      .when('expire', { at: now + 4 })
      .then([]);
    given(projectKey, [created(now + 5)])
      .when('expire', { at: now + 5 })
      .then([expired])
      .leaves({ status: 'expired' });
    given(projectKey, [created(now + 5), suspended])
      .when('expire', { at: now + 5 })
      .then([expired])
      .leaves({ status: 'expired' });
    given(projectKey, [created(now + 5), revoked])
      .when('expire', { at: now + 6 })
      .then([]);
    given(projectKey, [created()]).when('expire', { at: Number.MAX_SAFE_INTEGER }).then([]);
    given(projectKey, [created(now + 5), expired])
      .when('expire', { at: now + 6 })
      .then([]);
  });
  test('holds against a clock that goes back', () => {
    const over = { refusal: { code: 'api_key_expired', status: 409 } };
    given(projectKey, [created(now + 5), expired])
      .when('suspend', { at: now })
      .refuses(over);
    given(projectKey, [created(now + 5), expired])
      .when('update', { expiresAt: now + 9, at: now })
      .refuses(over);
    given(projectKey, [created(now + 5), suspended, expired])
      .when('reactivate', { at: now })
      .refuses(over);
  });
});

describe('rotate', () => {
  const order = { successorId: 'key_2', graceSeconds: 60, at: now + 999 };
  const rotated = (expires_at: number, successor_id = 'key_2'): ProjectKeyEvent => ({
    type: 'project_key.rotated',
    successor_id,
    expires_at,
  });

  test.each([
    [0, null, now],
    [1, null, now + 3_000],
    [60, null, now + 62_000],
    [60, now + 62_001, now + 62_000],
    [60, now + 62_000, now + 62_000],
    [60, now + 61_999, now + 61_999],
    [longestGraceSeconds, null, now + 604_802_000],
  ])('with %i seconds of grace a key that expires at %s goes on until %i', (graceSeconds, expiresAt, end) => {
    given(projectKey, [created(expiresAt)])
      .when('rotate', { ...order, graceSeconds })
      .then([rotated(end)])
      .leaves({ status: 'active', data: { expiresAt: end, rotatedTo: 'key_2' } });
  });
  test('is done once for a successor, whatever has become of the key since', () => {
    const done = [created(), rotated(now + 5)];
    for (const history of [done, [...done, suspended], [...done, expired], [...done, revoked]]) {
      given(projectKey, history)
        .when('rotate', { ...order, at: now + 9 })
        .then([]);
      given(projectKey, history)
        .when('mayRotate', { ...order, at: now + 9 })
        .then([]);
    }
  });
  test.each([
    ['api_key_rotated', [created(), rotated(now + 5_000, 'key_3')]],
    ['api_key_suspended', [created(), suspended]],
    ['api_key_expired', [created(now + 999)]],
    ['api_key_expired', [created(now + 5), expired]],
    ['api_key_expired', [created(), rotated(now + 999, 'key_3')]],
    ['api_key_revoked', [created(), revoked]],
  ])('is refused with %s after %j', (code, history) => {
    const refusal = { refusal: { code, status: 409 } };
    given(projectKey, history).when('rotate', order).refuses(refusal);
    given(projectKey, history).when('mayRotate', order).refuses(refusal);
  });
  test('whether it would be done changes nothing', () => {
    given(projectKey, [created()]).when('mayRotate', order).then([]);
  });
  test('leaves an end that can be brought nearer and not put off', () => {
    const history = [created(), rotated(now + 60_000)];
    const putOff = { refusal: { code: 'api_key_rotated' } };
    const update = (expiresAt: number | null) => given(projectKey, history).when('update', { expiresAt, at: now });
    update(now + 60_001).refuses(putOff);
    update(null).refuses(putOff);
    update(now + 60_000).then([]);
    update(now + 59_999).leaves({ data: { expiresAt: now + 59_999 } });
    given(projectKey, [...history, revoked])
      .when('update', { expiresAt: null, at: now })
      .refuses({ status: 'revoked', name: 'IllegalEvent' });
    given(projectKey, history)
      .when('update', { name: 'old', at: now })
      .leaves({ data: { name: 'old' } });
    for (const command of ['suspend', 'reactivate'] as const)
      given(projectKey, history)
        .when(command, { at: now + 60_000 })
        .refuses({ refusal: { code: 'api_key_expired' } });
    given(projectKey, history)
      .when('expire', { at: now + 60_000 })
      .then([expired]);
  });
  test('its successor remembers where it comes from and whose windows it has', () => {
    const successor = { ...input, rotatedFrom: 'key_1', windowsOf: 'key_0' };
    given(projectKey, [])
      .when('create', successor)
      .then([{ ...created(), rotated_from: 'key_1', windows_of: 'key_0' } as ProjectKeyEvent])
      .leaves({ data: { rotatedFrom: 'key_1', rotatedTo: null, windowsOf: 'key_0' } });
  });
  test.each([
    [null, now + 123_456, null],
    // Made 700 ms later.
    [3_600_000, now + 123_456, now + 123_000 + 3_600_000],
    [3_600_000, now + 123_700, now + 123_000 + 3_600_000],
    [3_600_000, now + 123_701, now + 124_000 + 3_600_000],
    [1_000, now + 999, now + 2_000],
  ])('a successor lasts as long as the key was to: %s', (life, at, end) => {
    const { data } = given(projectKey, [created(life === null ? null : now + life)]).state;
    expect(successorExpiry({ ...data, createdAt: now + 700 }, at)).toBe(end);
  });
});

test('a key that never came refuses every command, also those that would change nothing', () => {
  const never = { status: 'absent', name: 'IllegalEvent' };
  given(projectKey, []).when('update', { at: now }).refuses(never);
  given(projectKey, []).when('suspend', { at: now }).refuses(never);
  given(projectKey, []).when('reactivate', { at: now }).refuses(never);
  given(projectKey, []).when('revoke', { reason: 'requested' }).refuses(never);
  given(projectKey, []).when('showAgain', undefined).refuses(never);
});

describe('a revoked key', () => {
  test('refuses every command but another revoke, also those that would change nothing', () => {
    const gone = { status: 'revoked' };
    given(projectKey, [created(), revoked]).when('update', { name: 'k', at: now }).refuses(gone);
    given(projectKey, [created(), suspended, revoked]).when('suspend', { at: now }).refuses(gone);
    given(projectKey, [created(), revoked]).when('reactivate', { at: now }).refuses(gone);
    given(projectKey, [created(now + 5), revoked])
      .when('suspend', { at: now + 9 })
      .refuses(gone);
  });
});
