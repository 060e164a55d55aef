import { beforeEach, describe, expect, test } from 'vitest';
import { AccessLog, turns } from '../../src/data/access/access-log.ts';
import type { ProjectPrincipal } from '../../src/data/access/principal.ts';
import type { Head } from '../../src/http/route.ts';
import { newId } from '../../src/ids.ts';
import { fixedClock } from '../support/fixed-clock.ts';

const minute = 60_000;
const start = 1_700_000_040_000; // the beginning of a minute
const clock = fixedClock(start);
let log: AccessLog;
beforeEach(() => {
  clock.at = start;
  log = new AccessLog(clock);
});

const principal = (id: string, organizationId = 'org_1'): ProjectPrincipal => ({
  kind: 'project_key',
  id,
  name: id,
  organizationId,
  organizationStatus: 'active',
  projectId: 'proj_1',
  projectName: 'p',
  allowedModels: null,
  modelAliases: null,
  tier: 0,
  permissions: new Set(),
  expiresAt: null,
});
const head = (requestId: string): Head => ({
  requestId,
  method: 'GET',
  path: '/raw',
  ip: `ip of ${requestId}`,
  header: () => undefined,
});
const aim = { method: 'GET', path: '/v1/models' };
const at = (seconds: number): void => {
  clock.at = start + seconds * 1000;
  log.tick();
};
const taken = (now?: readonly number[]) => Object.fromEntries(log.takeUsed(now));

describe('uses', () => {
  test('are the last of each credential since they were taken, whosever it is', () => {
    const [one, two, other] = [principal('key_1'), principal('key_2'), principal('key_3', 'org_2')];
    log.used(one);
    log.used(two);
    at(5);
    log.used(one);
    log.used(other);
    const s = start / 1000;
    expect(taken()).toEqual({ key_1: s + 5, key_2: s, key_3: s + 5 });
    expect(taken()).toEqual({});
    at(6);
    log.used(two);
    expect(taken()).toEqual({ key_2: s + 6 });
  });
  test('of credentials whose turn it is not are kept, with what comes meanwhile', () => {
    const [one, other] = [principal('key_1'), principal('key_2')];
    log.used(one);
    log.used(other);
    const s = start / 1000;
    const turnOfOne = Array.from({ length: turns }, (_, turn) => turn).filter((turn) => 'key_1' in taken([turn]));
    expect(turnOfOne).toHaveLength(1);
    at(1);
    log.used(one);
    log.used(other);
    expect(taken([(turnOfOne[0]! + 1) % turns, (turnOfOne[0]! + 2) % turns])).not.toHaveProperty('key_1');
    expect(taken(turnOfOne)).toEqual({ key_1: s + 1 });
    at(2);
    log.used(one);
    expect(taken(turnOfOne)).toEqual({ key_1: s + 2 });
  });
  test('of a thousand credentials are spread over the turns, each in one of them', () => {
    for (let i = 0; i < 1000; i++) log.used(principal(newId('key', fixedClock(1))));
    const counts = Array.from({ length: turns }, (_, turn) => log.takeUsed([turn]).size);
    expect(counts.reduce((sum, each) => sum + each)).toBe(1000);
    expect(Math.max(...counts)).toBeLessThan(60);
  });
  test('of one credential that was looked up twice are the later one', () => {
    const [first, again] = [principal('key_1'), principal('key_1')];
    log.used(first);
    at(1);
    log.used(again);
    expect(taken()).toEqual({ key_1: start / 1000 + 1 });
    at(2);
    log.used(again);
    log.used(first);
    expect(taken()).toEqual({ key_1: start / 1000 + 2 });
  });
});

describe('refusals', () => {
  const who = principal('key_1');
  const gist = (everything: boolean) =>
    log.takeDenied(everything).map(({ who: { id }, route, code, count }) => `${id} ${route} ${code} ${count}`);

  test('are counted by credential, route and code, and know the last of them', () => {
    log.refused(who, aim, 'api_key_revoked', head('req_1'));
    clock.at += 10;
    log.refused(who, aim, 'api_key_revoked', head('req_2'));
    log.refused(who, { ...aim, method: 'POST' }, 'api_key_revoked', head('req_3'));
    log.refused(who, aim, 'api_key_suspended', head('req_4'));
    log.refused(principal('key_2'), aim, 'api_key_revoked', head('req_5'));
    const [first, ...rest] = log.takeDenied(true);
    expect(first).toMatchObject({
      count: 2,
      firstAt: start,
      lastAt: start + 10,
      ip: 'ip of req_2',
      requestId: 'req_2',
    });
    expect(rest.map(({ count }) => count)).toEqual([1, 1, 1]);
  });
  test('are taken when their minute is over, to the millisecond, and each once', () => {
    clock.at = start + minute - 1;
    log.refused(who, aim, 'api_key_revoked', head('req_1'));
    expect(gist(false)).toEqual([]);
    clock.at += 1;
    log.refused(who, aim, 'api_key_revoked', head('req_2'));
    expect(gist(false)).toEqual(['key_1 GET /v1/models api_key_revoked 1']);
    expect(gist(false)).toEqual([]);
    expect(gist(true)).toEqual(['key_1 GET /v1/models api_key_revoked 1']);
  });
  test.each([9_999, 10_000, 10_001])(
    'of %i kinds leave no more than 10,000 in memory, and say how many had no room',
    (count) => {
      for (let i = 0; i < count; i++) log.refused(principal(`key_${i}`), aim, 'api_key_revoked', head('req_1'));
      log.refused(principal('key_0'), aim, 'api_key_revoked', head('req_1'));
      expect(log.missed).toBe(Math.max(0, count - 10_000));
      const [first, ...rest] = log.takeDenied(true);
      expect(first?.count).toBe(2);
      expect(rest).toHaveLength(Math.min(count, 10_000) - 1);
    },
  );
});
