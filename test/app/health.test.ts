import { expect, test } from 'vitest';
import { healthRoutes } from '../../src/app/health.ts';
import { toldSigning } from '../../src/audit/log/signing.ts';
import type { UpstreamHealth } from '../../src/data/upstream/balance/balanced.ts';
import { asker } from '../admin/ask.ts';
import { model } from '../inference/hosted.ts';
import { ScriptedUpstream } from '../inference/scripted-upstream.ts';

let signing = () => toldSigning({ stopped: undefined, hasKey: true, passedOver: [] });
const audit_log = { signed: true, passed_over: [] };

test('readiness names what is not there and why, and says when to ask again', async () => {
  const there: Record<string, string | undefined> = {};
  const ask = asker(
    healthRoutes(
      { checks: { eventstore: () => there.eventstore, cellar: () => there.cellar }, ageMs: () => 0, signing },
      () => [],
    ),
  );
  expect(await ask('GET', '/v1/ready')).toMatchObject({ status: 200, body: { status: 'ok' } });
  there.eventstore = '';
  expect(await ask('GET', '/v1/ready')).toMatchObject({
    status: 503,
    code: 'dependency_unavailable',
    message: 'Not available: eventstore.',
    headers: { 'Retry-After': '1' },
  });
  there.cellar = 'it is locked';
  expect((await ask('GET', '/v1/ready')).message).toBe('Not available: eventstore, cellar (it is locked).');
  expect((await ask('GET', '/v1/health')).status).toBe(200);
});

test('whoever wants to know hears how old at most what is known here is, ready or not', async () => {
  let age = Number.POSITIVE_INFINITY;
  let why: string | undefined;
  const ask = asker(healthRoutes({ checks: { eventstore: () => why }, ageMs: () => age, signing }, () => []));
  expect((await ask('GET', '/v1/ready')).body).toEqual({ status: 'ok' });
  expect((await ask('GET', '/v1/ready?verbose=true')).body).toEqual({
    status: 'ok',
    age_ms: null,
    upstreams: {},
    audit_log,
  });
  age = 12.6;
  expect((await ask('GET', '/v1/ready?verbose')).body).toEqual({ status: 'ok', age_ms: 13, upstreams: {}, audit_log });
  why = '';
  age = 4_000;
  expect((await ask('GET', '/v1/ready')).message).toBe('Not available: eventstore.');
  expect((await ask('GET', '/v1/ready?verbose')).message).toBe(
    'Not available: eventstore. What is known here may be 4000 ms old.',
  );
});

test('whoever wants to know hears how each of several upstreams does, but not of models of one organization', async () => {
  let health: readonly UpstreamHealth[] = [{ name: 'east', state: 'closed', until: null }];
  const hosted = (id: string, fields: object = {}) => ({
    model: model({ id, ...fields }),
    upstreamModel: 'x',
    upstream: new ScriptedUpstream(),
  });
  const models = [
    hosted('one'),
    { ...hosted('several'), health: () => health },
    { ...hosted('secret', { dedicated_to: 'org_1' }), health: () => health },
  ];
  const ask = asker(healthRoutes({ checks: {}, ageMs: () => 1, signing }, () => models));
  const upstreams = async () => (await ask('GET', '/v1/ready?verbose')).body.upstreams;
  expect(await upstreams()).toEqual({ several: health });
  health = [
    { name: 'east', state: 'open', until: 1_700_000_000_001 },
    { name: '1', state: 'paused', until: 1_700_000_001_000 },
  ];
  expect(await upstreams()).toEqual({
    several: [
      { name: 'east', state: 'open', until: 1_700_000_001 },
      { name: '1', state: 'paused', until: 1_700_000_001 },
    ],
  });
  expect((await ask('GET', '/v1/ready')).body).toEqual({ status: 'ok' });
});

test('whoever wants to know hears whether the audit log is signed here, and which of its keys are not believed', async () => {
  const passedOver = [{ stream: 'auditLog-keys', revision: 3 }];
  const ask = asker(healthRoutes({ checks: {}, ageMs: () => 1, signing: () => signing() }, () => []));
  const told = async () => (await ask('GET', '/v1/ready?verbose')).body.audit_log;
  expect(await told()).toEqual(audit_log);
  signing = () => toldSigning({ stopped: undefined, hasKey: true, passedOver });
  expect(await told()).toEqual({ signed: true, passed_over: [{ stream: 'auditLog-keys', revision: 3 }] });
  signing = () => toldSigning({ stopped: undefined, hasKey: false, passedOver: [] });
  expect(await told()).toEqual({ signed: false, passed_over: [] });
  signing = () => toldSigning({ stopped: new Error('x'), hasKey: true, passedOver: [] });
  expect(await told()).toEqual({ signed: false, passed_over: [] });
});
