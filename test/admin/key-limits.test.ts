import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyLimitsRoute } from '../../src/admin/keys/key-limits.ts';
import { projectKeyRoutes } from '../../src/admin/keys/project-keys.ts';
import type { Tier } from '../../src/domain/organization/tiers.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { countRequest, start } from '../../src/limits/count-request.ts';
import { reserve } from '../../src/limits/reserve.ts';
import { isRefused, type Ticket } from '../../src/limits/window/ticket.ts';
import { type LimitSubject, limitSubject } from '../../src/limits/window/window-store.ts';
import type { Windows } from '../../src/limits/windows.ts';
import { testWindows } from '../support/test-windows.ts';
import { type Ask, asker, gist, type Json } from './ask.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
const keys = '/v1/organization/projects/proj_1/api_keys';
let at: Awaited<ReturnType<typeof stage>>;
let windows: Windows;
let ask: Ask;
let tier: Tier;
let key: string;
let subject: LimitSubject;

beforeEach(async () => {
  at = await stage();
  tier = 0;
  windows = testWindows(0, { tierOf: () => tier });
  ask = asker([...projectKeyRoutes(at.admin), keyLimitsRoute(at.admin, windows)]);
  const { organization, project } = at.admin.aggregates;
  await organization.dispatch('org_1', 'create', { name: 'Acme', at: 1_000 }, context);
  const { position } = await project.dispatch(
    'proj_1',
    'create',
    { organizationId: 'org_1', name: 'p', at: 1 },
    context,
  );
  await at.admin.models.reached(position as bigint, 2000);
  const made = await ask('POST', keys, {
    body: { name: 'k' },
    headers: { 'idempotency-key': 'idempotency-key-1', authorization: 'Bearer the-caller' },
  });
  key = String(made.body.id);
  subject = limitSubject(key, 'proj_1', 'org_1');
});
afterEach(() => at.close());

const limits = async () => (await ask('GET', `${keys}/${key}/limits`)).body;
const windowsOf = (scope: unknown) =>
  Object.fromEntries(
    ((scope as Json).windows as Json[]).map(({ metric, limit, used, remaining, resets_in_seconds }) => [
      metric,
      [limit, used, remaining, resets_in_seconds],
    ]),
  );

describe('the limits of a key', () => {
  test('are all unused before anybody has called, and asking counts nothing', async () => {
    await limits();
    const body = await limits();
    expect(body).toMatchObject({ object: 'organization.project.api_key.limits', api_key_id: key, tier: 0 });
    expect(body.last_refusal).toBeNull();
    const [mine, project, organization] = body.scopes as Json[];
    expect([mine, project, organization].map((each) => [each?.scope, each?.id])).toEqual([
      ['api_key', key],
      ['project', 'proj_1'],
      ['organization', 'org_1'],
    ]);
    expect(windowsOf(mine)).toEqual({
      requests_per_minute: [60, 0, 60, 0],
      requests_per_day: [10_000, 0, 10_000, 0],
      concurrent_requests: [4, 0, 4, 0],
      tokens_per_minute: [1_000_000, 0, 1_000_000, 0],
    });
    expect(windowsOf(organization)).toMatchObject({
      tokens_per_day: [1e9, 0, 1e9, 0],
      concurrent_requests: [8, 0, 8, 0],
    });
    expect((body.credits as Json[]).map(windowsOf)).toEqual([
      { requests_per_minute: [60, 0, 60, 0] },
      { requests_per_minute: [300, 0, 300, 0] },
    ]);
  });

  test('show what is used, when there is more, and which limit refused last', async () => {
    const { inference, credits } = windows;
    const now = () => at.clock.monotonic();
    reserve(inference, start(inference, subject, now()) as Ticket, 1_500, now());
    at.clock.at += 20_000;
    for (let n = 0; n < 59; n++) countRequest(inference, subject, now());
    at.clock.at += 1_000;
    expect(isRefused(start(inference, subject, now()))).toBe(true);
    const refusedAt = Math.floor(at.clock.at / 1000);
    countRequest(credits, limitSubject(key, null, 'org_1'), now());
    at.clock.at += 5_000;
    const body = await limits();
    const [mine, project] = body.scopes as Json[];
    expect(windowsOf(mine)).toMatchObject({
      // Of 61 attempts the newest 60 are known: the oldest of those was 6 s ago.
      requests_per_minute: [60, 60, 0, 54],
      requests_per_day: [10_000, 61, 9_939, expect.any(Number)],
      concurrent_requests: [4, 1, 3, null],
      tokens_per_minute: [1_000_000, 1_500, 998_500, 35],
    });
    expect(body.last_refusal).toEqual({
      at: refusedAt,
      limits: [{ scope: 'api_key', metric: 'requests_per_minute' }],
    });
    expect([mine?.last_refusal, project?.last_refusal]).toEqual([
      { metrics: ['requests_per_minute'], at: refusedAt },
      null,
    ]);
    expect((body.credits as Json[]).map(windowsOf)).toEqual([
      { requests_per_minute: [60, 1, 59, 55] },
      { requests_per_minute: [300, 1, 299, 55] },
    ]);
  });

  test('name every limit that refused last, and of several moments the latest', async () => {
    const { inference } = windows;
    const refused = (who: LimitSubject) => isRefused(start(inference, who, at.clock.monotonic()));
    for (let n = 0; n < 4; n++) expect(refused(subject)).toBe(false);
    expect(refused(subject)).toBe(true);
    at.clock.at += 10_000;
    for (let n = 0; n < 2; n++) expect(refused(limitSubject(`key_${n}`, 'proj_1', 'org_1'))).toBe(false);
    expect(refused(subject)).toBe(true);
    expect((await limits()).last_refusal).toEqual({
      at: Math.floor(at.clock.at / 1000),
      limits: [
        { scope: 'api_key', metric: 'concurrent_requests' },
        { scope: 'project', metric: 'concurrent_requests' },
      ],
    });
  });

  test('are those of the present tier', async () => {
    const { organization } = at.admin.aggregates;
    const told = await organization.dispatch('org_1', 'topUp', { amount: 20_000_000, reference: 'r' }, context);
    await at.admin.models.reached(told.position as bigint, 2000);
    tier = 1;
    const body = await limits();
    expect([body.tier, windowsOf((body.scopes as Json[])[0]).requests_per_minute]).toEqual([1, [120, 0, 120, 0]]);
  });

  test('are shown to those who may read keys, of keys that are there', async () => {
    const path = `${keys}/${key}/limits`;
    expect(await gist(ask('GET', `${keys}/key_none/limits`))).toBe('404 api_key_not_found');
    expect(await gist(ask('GET', path.replace('proj_1', 'proj_2')))).toBe('404 project_not_found');
    expect(await gist(ask('GET', path, { principal: { organizationId: 'org_2' } }))).toBe('404 project_not_found');
    const [route] = [keyLimitsRoute(at.admin, windows)];
    expect(route.access).toEqual({ credential: 'admin', permission: 'project_api_keys:read' });
  });
});
