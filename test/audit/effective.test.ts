import { afterEach, expect, test } from 'vitest';
import { effectiveIn } from '../../src/audit/effective.ts';
import { pastOf, standingOf } from '../../src/audit/past.ts';
import { context, wholeGateway } from '../support/whole-gateway.ts';

let weir: Awaited<ReturnType<typeof wholeGateway>>;
afterEach(() => weir.close());

test('what a key could do follows its own state, its project, its organization and the time', async () => {
  weir = await wholeGateway();
  const { admin, clock, store, make } = weir;
  const { organization, project } = admin.aggregates;
  const { organizationId, projectId } = await make.tenant();
  const { id } = await make.projectKey({ organizationId, projectId }, { expiresAt: clock.at + 60_000 });
  const seen = async (what: string, time = clock.at) => {
    const past = pastOf(store);
    const { status, because, usable_keys } = await effectiveIn(past, await standingOf(past, what, { time }), time);
    return [status, because, ...(usable_keys === undefined ? [] : [usable_keys])];
  };
  const begun = clock.at;
  expect(await seen(id)).toEqual(['active', 'its own state']);
  expect(await seen(projectId)).toEqual(['active', 'its own state', 2]);
  clock.at += 1000;
  await organization.dispatch(organizationId, 'suspend', undefined, context);
  expect(await seen(id)).toEqual(['suspended', 'its organization']);
  expect(await seen(projectId)).toEqual(['suspended', 'its organization', 0]);
  clock.at += 1000;
  await organization.dispatch(organizationId, 'reactivate', undefined, context);
  expect(await seen(id)).toEqual(['active', 'its own state']);
  // Its time is over and nobody has recorded it yet.
  expect(await seen(id, begun + 59_999)).toEqual(['active', 'its own state']);
  expect(await seen(id, begun + 60_000)).toEqual(['expired', 'the time']);
  expect(await seen(projectId, begun + 60_000)).toEqual(['active', 'its own state', 1]);
  clock.at += 1000;
  await project.dispatch(projectId, 'archive', { at: clock.at }, context);
  expect(await seen(id)).toEqual(['revoked', 'its project']);
  expect(await seen(id, begun)).toEqual(['active', 'its own state']);
});
