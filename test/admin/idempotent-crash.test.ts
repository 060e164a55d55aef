// Lane: middle: it runs at length
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allAggregates } from '../../src/app/aggregates.ts';
import { adminPermissions } from '../../src/domain/permissions.ts';
import { digest, digestText } from '../../src/ids.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { administrationRoutes } from '../support/all-routes.ts';
import type { Fault } from '../support/memory-store.ts';
import { type Answer, type Ask, asker } from './ask.ts';
import { stage } from './stage.ts';

/**
 * A process that dies while it creates something, at every step of it: before what it appends is on the disk, and after it
 * is, before anybody hears of it. Another process goes on with the same store (contract I).
 */

const context: Context = { actor: { type: 'operator', id: 'jo' } };
const secret = 'Bearer the-caller';
let at: Awaited<ReturnType<typeof stage>>;
/** What a test's resource is called, and where its events begin. */
let name = '';
let begun = 0;
let tests = 0;
/** Appends of the request at hand, and what befalls the one with this number; nothing more is appended after it. */
const evaluator = openEvaluator();
let appends = 0;
let dying: { readonly step: number; readonly how: Fault } | undefined;

beforeAll(async () => {
  at = await stage({
    fault() {
      if (!dying) return 'none';
      appends += 1;
      if (appends > dying.step) return 'lost';
      return appends === dying.step ? dying.how : 'none';
    },
  });
  const { organization, project } = at.admin.aggregates;
  await organization.dispatch('org_1', 'create', { name: 'Acme', at: 1 }, context);
  const { head } = await project.dispatch('proj_1', 'create', { organizationId: 'org_1', name: 'p', at: 1 }, context);
  await at.admin.models.reached(head as bigint, 2000);
});
beforeEach(() => {
  tests += 1;
  name = `number ${tests}`;
  begun = at.store.log.length;
});
afterAll(async () => {
  await evaluator.close();
  await at.close();
});

/** A process: the store is there before it and after it, what it remembers is not. */
const freshProcess = (): Ask => {
  const { store, clock } = at;
  return asker(
    administrationRoutes({ ...at.admin, aggregates: allAggregates(store, { clock, whose: () => 'ours' }) }, evaluator),
  );
};

const kinds = [
  {
    kind: 'project key',
    path: '/projects/proj_1/api_keys',
    body: {},
    steps: 5,
    event: 'project_key.created',
    admitted: 'project.key_issued',
  },
  {
    kind: 'Admin key',
    path: '/admin_api_keys',
    body: { permissions: [...adminPermissions] },
    steps: 5,
    event: 'admin_key.created',
    admitted: 'organization.admin_key_issued',
  },
  { kind: 'project', path: '/projects', body: {}, steps: 3, event: 'project.created', admitted: undefined },
  {
    kind: 'policy',
    path: '/policies',
    body: { rule: 'true' },
    steps: 4,
    event: 'policy.created',
    admitted: 'organization.policy_issued',
  },
] as const;

describe.each(kinds)('a $kind', ({ path, body, steps, event, admitted }) => {
  const create = (ask: Ask, more: object = {}, key = `the same key ${tests}`.replaceAll(' ', '-')): Promise<Answer> =>
    ask('POST', `/v1/organization${path}`, {
      body: { name, ...body, ...more },
      headers: { 'idempotency-key': key, authorization: secret },
    });
  const since = () => at.store.log.slice(begun);
  const made = () => since().filter(({ type, data }) => type === event && data.name === name);
  const text = ({ body: answer }: Answer): string => JSON.stringify(answer);
  const gist = ({ status, code }: Answer): string => `${status} ${code}`;

  const places = Array.from({ length: steps }, (_, i) => i + 1).flatMap((step) =>
    (['lost', 'answer-lost'] as const).map((how) => ({ step, how })),
  );

  test('is made in so many appends', async () => {
    expect((await create(freshProcess())).status).toBe(201);
    // The metadata of the sealed secret's stream is no append of ours.
    expect(since()).toHaveLength(steps);
  });

  test.each(places)(
    'whose maker dies at append $step ($how) is made once, and answered the same from then on',
    async (place) => {
      [appends, dying] = [0, place];
      const first = await create(freshProcess());
      expect(first.status).toBe(503);
      expect(appends).toBeGreaterThanOrEqual(place.step);
      dying = undefined;

      // While it may still be at work: nobody else makes one, unless nothing was begun or all is done.
      const soon = await create(freshProcess());
      const wasBegun = place.step > 1 || place.how === 'answer-lost';
      const wasDone = place.step === steps && place.how === 'answer-lost';
      expect(gist(soon)).toBe(wasBegun && !wasDone ? '409 idempotency_in_progress' : '201 ');
      expect(made().length).toBeLessThanOrEqual(1);

      at.clock.at += 6_000;
      const answer = await create(freshProcess());
      expect(gist(answer)).toBe('201 ');
      expect(made()).toHaveLength(1);
      const [event] = made();
      expect(event?.stream.endsWith(`-${answer.body.id}`)).toBe(true);
      // Nothing that was admitted is left without the stream that it was admitted for.
      const admissions = since().filter(({ type }) => type === admitted);
      for (const { data } of admissions) expect(data.key_id ?? data.policy_id).toBe(answer.body.id);
      if (event?.data.digest !== undefined) {
        const value = String(answer.body.value);
        expect(event.data.digest).toBe(digestText(digest(at.admin.secrets.pepper, value)));
        const other = await create(freshProcess(), {}, `another-key-${tests}`);
        expect(other.body.value).not.toBe(value);
      }
      for (let again = 0; again < 2; again++) expect(text(await create(freshProcess()))).toBe(text(answer));
      expect(gist(await create(freshProcess(), { name: 'another body' }))).toBe('409 idempotency_key_reused');
    },
  );
});

test('a project that was archived before its abandoned creation is taken up is shown as it stands, and not again', async () => {
  const create = (): Promise<Answer> =>
    freshProcess()('POST', '/v1/organization/projects', {
      body: { name },
      headers: { 'idempotency-key': 'archived-meanwhile', authorization: secret },
    });
  [appends, dying] = [0, { step: 2, how: 'answer-lost' }];
  expect((await create()).status).toBe(503);
  dying = undefined;
  const id = at.store.log.at(-1)!.stream.slice('project-'.length);
  const { head } = await at.admin.aggregates.project.dispatch(id, 'archive', { at: 9_000 }, context);
  await at.admin.models.reached(head as bigint, 2000);
  at.clock.at += 6_000;
  const { status, body } = await create();
  expect(status).toBe(201);
  expect(body).toMatchObject({ id, name, status: 'archived', archived_at: 9 });
  expect(await create()).toMatchObject({ status: 409, code: 'idempotency_result_unavailable' });
});
