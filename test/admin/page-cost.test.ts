// Lane: fast, alone: it counts what every module reads

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database, Key, RangeOptions, RootDatabaseOptionsWithPath } from 'lmdb';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AdminKeyRow, adminKeyRows, liveAdminKeyRows } from '../../projections/admin-keys.ts';
import { projections } from '../../projections/all.ts';
import { type AuditRow, auditEnds, auditKeyOf, auditNumbers, auditRows } from '../../projections/audit-log.ts';
import { livePolicyRows, type PolicyRow, policyRows, policyVersionRows } from '../../projections/policies.ts';
import { policyDecisionRows } from '../../projections/policy-decisions.ts';
import { type ProjectKeyRow, projectKeyRows } from '../../projections/project-keys.ts';
import { activeProjectRows, type ProjectRow, projectRows } from '../../projections/projects.ts';
import type { Administration } from '../../src/admin/command.ts';
import { noKeyLimits } from '../../src/domain/key/key-limits.ts';
import { defaultTerms } from '../../src/domain/policy/policy-terms.ts';
import { idOfEvent } from '../../src/ids.ts';
import type { ReadModels } from '../../src/kernel/projections/projection.ts';
import { openRows, type RowStore, type Table } from '../../src/kernel/rows/rows.ts';
import { administrationRoutes } from '../support/all-routes.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { type Ask, asker, type Json } from './ask.ts';

/** Objects of each list. The pages' cost must not know this number. */
const count = 1000;
const clock = fixedClock(1_800_000_000_000);
const dir = mkdtempSync(join(tmpdir(), 'weir-pages-'));
let rows: RowStore<object>;
let ask: Ask;
/** Rows that cursors went over and rows that were looked up, since the last reset. */
const counter = vi.hoisted(() => ({ visited: 0 }));
vi.mock('lmdb', async (original) => {
  const lmdb = await original<typeof import('lmdb')>();
  /** Counts what is read of a database, row by row. */
  const count = (db: Database): Database => {
    const getRange = db.getRange.bind(db);
    const getBinary = db.getBinary.bind(db);
    const counted = {
      *getRange(options: RangeOptions) {
        for (const entry of getRange(options)) {
          counter.visited += 1;
          yield entry;
        }
      },
      getBinary(id: Key) {
        counter.visited += 1;
        return getBinary(id);
      },
    };
    return Object.assign(db, counted);
  };
  const openCounted = (options: RootDatabaseOptionsWithPath) => {
    const root = lmdb.open(options);
    const openDB = root.openDB.bind(root) as (options: object) => Database;
    return Object.assign(root, { openDB: (one: object) => count(openDB(one)) });
  };
  return { ...lmdb, open: openCounted };
});

const pad = (n: number): string => String(n).padStart(4, '0');
const numbers = Array.from({ length: count }, (_, i) => i);

/** Every list, full: 1,000 projects, three of them with 1,000 keys, and as many of all else; half of it is ended. */
const fill = (): Map<string, Map<string, object>> => {
  const changes = new Map<string, Map<string, object>>();
  const put = <Row extends object>(into: Table<Row>, key: string, row: Row): void => {
    const table = changes.get(into.name) ?? new Map<string, object>();
    changes.set(into.name, table.set(key, row));
  };
  const key = { organizationId: 'org_1', name: 'k', permissions: [], createdAt: 1, expiresAt: null };
  const secret = { digest: '', pepperId: '', redactedValue: '' };
  for (const n of numbers) {
    const project: ProjectRow = {
      id: `proj_${pad(n)}`,
      organizationId: 'org_1',
      name: 'p',
      status: 'active',
      createdAt: 1,
      archivedAt: null,
      allowedModels: null,
      deniedModels: null,
      modelAliases: {},
      rateLimits: {},
      spendLimit: null,
    };
    put(projectRows, `org_1:${project.id}`, project);
    put(activeProjectRows, `org_1:${project.id}`, project);
    const gone: ProjectRow = { ...project, id: `proj_gone_${pad(n)}`, status: 'archived', archivedAt: 2 };
    put(projectRows, `org_1:${gone.id}`, gone);
    const admin: AdminKeyRow = { id: `akey_${pad(n)}`, status: 'active', data: { ...key, ...secret } };
    put(adminKeyRows, `org_1:${admin.id}`, admin);
    put(liveAdminKeyRows, `org_1:${admin.id}`, admin);
    const deleted: AdminKeyRow = { ...admin, id: `akey_${pad(n)}_gone`, status: 'deleted' };
    put(adminKeyRows, `org_1:${deleted.id}`, deleted);
    for (const owner of ['proj_0000', 'proj_0500', 'proj_0999']) {
      const data = {
        ...key,
        ...secret,
        projectId: owner,
        rotatedFrom: null,
        rotatedTo: null,
        windowsOf: null,
        limits: noKeyLimits,
        spendLimit: null,
      };
      const row: ProjectKeyRow = { id: `key_${owner}_${pad(n)}`, status: 'active', data };
      put(projectKeyRows, `${owner}:${row.id}`, row);
    }
    const version = { id: `polv_${pad(n)}`, version: n + 1, publishedAt: 1, ...defaultTerms };
    put(policyVersionRows, `pol_0000:${version.id}`, version);
    const data = { organizationId: 'org_1', name: 'p', description: '', createdAt: 1, updatedAt: 1, revision: 1 };
    const rest = { draft: defaultTerms, current: version, pausedRevision: 0 };
    const policy: PolicyRow = { id: `pol_${pad(n)}`, status: 'live', data: { ...data, ...rest } };
    put(policyRows, `org_1:${policy.id}`, policy);
    put(livePolicyRows, `org_1:${policy.id}`, policy);
    put(policyRows, `org_1:pol_${pad(n)}_gone`, { ...policy, id: `pol_${pad(n)}_gone`, status: 'deleted' });
    const decision = {
      id: `dec_${pad(n)}`,
      policyId: 'pol_0000',
      version: 1,
      direction: 'request',
      verdict: 'blocked',
    } as const;
    put(policyDecisionRows, `pol_0000:${decision.id}`, {
      ...decision,
      scoreBasisPoints: 1,
      requestId: '',
      projectId: '',
      apiKeyId: '',
      createdAt: clock.at,
    });
    const entry: AuditRow = {
      id: idOfEvent('audit', clock.at, n, randomUUID()),
      type: 'project.archived',
      at: clock.at,
      actor: { type: 'system', id: 'x' },
      ip: null,
      requestId: null,
      projectId: null,
      place: { stream: 'project-proj_1', revision: 0, position: '1' },
      resourceId: 'proj_0000',
    };
    put(auditRows, auditKeyOf('org_1', n), entry);
    put(auditNumbers, `org_1:${entry.id}`, { number: n });
  }
  put(auditEnds, 'org_1', { count, lasting: count, time: clock.at });
  return changes;
};

beforeAll(async () => {
  rows = openRows(
    join(dir, 'rows'),
    projections.flatMap(({ tables }) => tables),
  );
  await rows.write(fill(), new Map());
  const models = {
    ...rows,
    tables: [],
    written: async () => {},
    positionOf: () => 0n,
    sweep: async () => true,
    reached: async () => true,
    position: 0n,
    hasNoRoom: false,
    waitNoLonger: () => {},
    stopped: [],
    failed: new Promise<never>(() => {}),
    rebuild: async () => {},
    absent: [],
    whole: async () => {},
  } as ReadModels;
  const admin = { models, clock, aggregates: {} } as unknown as Administration;
  ask = asker(administrationRoutes(admin));
});
beforeEach(() => {
  counter.visited = 0;
});
afterAll(async () => {
  await rows.close();
  rmSync(dir, { recursive: true, force: true });
});

const base = '/v1/organization';
/** What a page looks up besides its rows: the resource that its path names, its cursor, and one thing for each row. */
const lookUps = (limit: number): number => 4 + limit;

describe.each([
  ['projects', `${base}/projects`],
  ['projects, archived ones too', `${base}/projects?include_archived=true`],
  ['keys of the first project', `${base}/projects/proj_0000/api_keys`],
  ['keys of a project in the middle', `${base}/projects/proj_0500/api_keys`],
  ['keys of the last project', `${base}/projects/proj_0999/api_keys`],
  ['active keys', `${base}/projects/proj_0999/api_keys?status=active`],
  ['Admin keys', `${base}/admin_api_keys`],
  ['policies', `${base}/policies`],
  ['policies in force', `${base}/policies?state=monitoring`],
  ['versions', `${base}/policies/pol_0000/versions`],
  ['decisions', `${base}/policies/pol_0000/decisions`],
  ['audit log', `${base}/audit_logs`],
])('a page of %s', (_, path) => {
  const pageOf = async (limit: number, more = '') => {
    const { status, body } = await ask('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${more}`);
    expect(status).toBe(200);
    return body as { data: Json[]; has_more: boolean; last_id: string };
  };
  test.each([1, 20, 100])('of %i visits no more rows than it shows, the first as the last', async (limit) => {
    const costs: number[] = [];
    let after = '';
    for (let seen = 0; ; ) {
      counter.visited = 0;
      const page = await pageOf(limit, after);
      costs.push(counter.visited);
      expect(counter.visited).toBeLessThanOrEqual(limit + 2 + lookUps(limit));
      seen += page.data.length;
      if (!page.has_more) break;
      // The pages in between cost what these do: jump.
      const isNear = seen < 3 * limit;
      after = `&after=${isNear ? page.last_id : await nearTheEnd()}`;
      if (!isNear) seen = Number.NEGATIVE_INFINITY;
      if (costs.length > 12) break;
    }
    const [, second = 0, ...rest] = costs;
    for (const cost of rest.slice(0, -1)) expect(cost).toBe(second);
  });

  /** The id of an object a few pages before the end, whatever the order. */
  const nearTheEnd = async (): Promise<string> => {
    const isDescending = /decisions|audit_logs/.test(path);
    const { data } = await pageOf(100, `&order=${isDescending ? 'asc' : 'desc'}`);
    return String(data.at(-1)?.id);
  };
});

test('the counting notices a page that reads all', async () => {
  await ask('GET', `${base}/projects/proj_0000/api_keys?status=suspended`);
  expect(counter.visited).toBeGreaterThanOrEqual(count);
});
