import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/http/route.ts';
import { newId } from '../../src/ids.ts';
import type { Received } from '../support/in-process.ts';
import { bearer } from '../support/whole-gateway.ts';
import { type Ids, message, noCursor, rows } from './rows.ts';
import { base, codeOf, isAdministration, matrix, named, ownerOf, routes, rowOf, type Tenant } from './stage.ts';

/** Whose things a caller sees, at every route there is: a route without a row in rows.ts fails. */

let stage: Awaited<ReturnType<typeof matrix>>;
let at: typeof stage.at;
let mine: Tenant;
let theirs: Tenant;
let send: typeof stage.send;
beforeAll(async () => {
  stage = await matrix();
  ({ at, mine, theirs, send } = stage);
});
afterAll(() => at.close());

const queryOf = (route: Route): object => (route.query as unknown as { shape?: object } | undefined)?.shape ?? {};

test('every route has a row, and every row a route', () => {
  expect(Object.keys(rows).toSorted()).toEqual(routes.map(({ operation }) => operation).toSorted());
});

describe('with what is one’s own', () => {
  test.each(named)('$title succeeds', async ({ route }) => {
    const row = rowOf(route);
    const answer = await send(route, (await row.ids?.(mine)) ?? {}, ownerOf(route, mine));
    expect(answer.status, answer.text).toBe(row.status);
  });
});

/** An id of the same form that nobody has. */
const nobodys = (id: string): string => newId(id.slice(0, id.indexOf('_')) as 'proj', at.clock);

/** Each way to name something foreign: one id of the path replaced, or all of them. */
const swaps = (own: Ids, foreign: Ids): Ids[] => {
  const each = Object.keys(own).map((key) => ({ ...own, [key]: foreign[key] ?? '' }));
  return each.length > 1 ? [...each, foreign] : each;
};

/** Events on the streams of what a tenant has. */
const eventsOf = (tenant: Tenant): number => {
  const ids = [tenant.organizationId, tenant.projectId, tenant.projectKey.id, tenant.adminKey.id, tenant.policyId];
  return at.store.log.filter(({ stream }) => ids.some((id) => stream.endsWith(`-${id}`))).length;
};

describe('what is another organization’s is as what never was', () => {
  test.each(named.filter(({ route }) => isAdministration(route) && route.path.includes('{')))(
    'to $title',
    async ({ route }) => {
      const { ids } = rowOf(route);
      const [own, foreign] = [await ids!(mine), await ids!(theirs)];
      const random = Object.fromEntries(Object.entries(own).map(([key, id]) => [key, nobodys(id)]));
      const before = eventsOf(theirs);
      const [others, nowhere] = [swaps(own, foreign), swaps(own, random)];
      for (const [i, named] of others.entries()) {
        // An id that every project has belongs to nobody.
        if (JSON.stringify(named) === JSON.stringify(own)) continue;
        const answers = [
          await send(route, named, ownerOf(route, mine)),
          await send(route, nowhere[i]!, ownerOf(route, mine)),
        ];
        const [swapped, unknown] = answers as [Received, Received];
        expect(swapped.status, `${JSON.stringify(named)} ${swapped.text}`).toBe(404);
        expect([swapped.text, swapped.headers]).toEqual([unknown.text, unknown.headers]);
      }
      expect(eventsOf(theirs)).toBe(before);
      // The owner does find it: nothing is wrong with the request but who asks.
      expect((await send(route, foreign, ownerOf(route, theirs))).status).toBe(rowOf(route).status);
    },
  );

  test.each(named.filter(({ route }) => rowOf(route).cursor))('as a cursor of $title', async ({ route }) => {
    const row = rowOf(route);
    const own = (await row.ids?.(mine)) ?? {};
    const [cursor, foreign] = [await row.cursor!(mine), await row.cursor!(theirs)];
    const names = 'before' in queryOf(route) ? ['after', 'before'] : ['after'];
    for (const each of names) {
      const ask = (id: string) => send(route, own, ownerOf(route, mine), `${each}=${id}`);
      const [swapped, unknown] = [await ask(foreign), await ask(nobodys(foreign))];
      expect([swapped.status, codeOf(swapped)]).toEqual([400, 'invalid_cursor']);
      expect(swapped.text).toBe(unknown.text);
      // Objects of my own that are in another list are no better.
      for (const id of [mine.organizationId, mine.oauthClient.id, mine.projectId, mine.projectKey.id, mine.policyId]) {
        if (id !== cursor) expect(codeOf(await ask(id)), id).toBe('invalid_cursor');
      }
      if (cursor !== noCursor) expect((await ask(cursor)).status).toBe(200);
    }
  });

  test('in the body of a policy', async () => {
    const headers = bearer(mine.adminKey.value);
    const scoped = (id: string) => ({ name: 'n', rule: 'true', scope: 'project', project_ids: [id] });
    for (const [path, more] of [
      ['/policies', {}],
      [`/policies/${mine.policyId}`, { revision: 2 }],
    ] as const) {
      const ask = (id: string) => at.call('POST', `${base}${path}`, { headers, body: { ...scoped(id), ...more } });
      const [swapped, unknown] = [await ask(theirs.projectId), await ask(nobodys(theirs.projectId))];
      expect([swapped.status, codeOf(swapped)]).toEqual([404, 'project_not_found']);
      expect(swapped.text).toBe(unknown.text);
      expect((await ask(mine.projectId)).status).toBeLessThan(300);
    }
  });

  test('in policy_ids of a message', async () => {
    const ask = (id: string) =>
      at.call('POST', '/v1/messages', {
        headers: bearer(mine.projectKey.value),
        body: { ...message, policy_ids: [id] },
      });
    const [swapped, unknown] = [await ask(theirs.policyId), await ask(nobodys(theirs.policyId))];
    expect([swapped.status, codeOf(swapped)]).toEqual([404, 'policy_not_found']);
    expect(swapped.text).toBe(unknown.text);
  });

  test('in the filters of the audit log', async () => {
    const ask = async (filter: string) =>
      (await at.call('GET', `${base}/audit_logs?${filter}`, { headers: bearer(mine.adminKey.value) })).body.data.length;
    for (const [filter, own, foreign] of [
      ['project_ids', mine.projectId, theirs.projectId],
      ['resource_ids', mine.projectKey.id, theirs.projectKey.id],
      ['actor_ids', mine.adminKey.id, theirs.adminKey.id],
    ] as const) {
      expect(await ask(`${filter}[]=${own}`), filter).toBeGreaterThan(0);
      expect(await ask(`${filter}[]=${foreign}`), filter).toBe(0);
    }
  });

  test('in every list: neither shows an id of the other', async () => {
    const texts = async (tenant: Tenant): Promise<string> => {
      const lists = named.filter(({ route }) => rowOf(route).cursor);
      const answers = await Promise.all(
        lists.map(async ({ route }) =>
          send(route, (await rowOf(route).ids?.(tenant)) ?? {}, ownerOf(route, tenant), 'limit=100'),
        ),
      );
      return answers.map(({ text }) => text).join('\n');
    };
    const idsOf = (text: string): Set<string> =>
      new Set(text.match(/\b(org|proj|key|akey|pol|polv|oac|audit)_[0-9a-z]{26}\b/g));
    const [one, other] = [idsOf(await texts(mine)), idsOf(await texts(theirs))];
    expect(one.size).toBeGreaterThan(20);
    expect([...one].filter((id) => other.has(id))).toEqual([]);
  });
});
