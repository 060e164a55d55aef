import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sweeper } from '../../src/admin/sweep.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import { onSignal } from '../../src/telemetry.ts';
import { stage } from './stage.ts';

const context: Context = { actor: { type: 'system', id: 'test' } };
const told: string[] = [];
let at: Awaited<ReturnType<typeof stage>>;
let ended: () => void;

beforeEach(async () => {
  at = await stage();
  told.length = 0;
  ended = onSignal((name, signal) => {
    if (name === 'reaction.failed' || name === 'follower.resumed') told.push(`${name} ${JSON.stringify(signal)}`);
  });
});
afterEach(() => {
  ended();
  return at.close();
});

/** An admission that nobody completed, and a key that expires: work for two of the sweeper's tasks. */
const leaveWork = async (): Promise<void> => {
  const { project, projectKey } = at.admin.aggregates;
  const expiresAt = at.clock.at + 1000;
  const key = { organizationId: 'org_1', projectId: 'proj_1', name: 'k', permissions: ['models:read'], expiresAt };
  const secret = { digest: 'd', pepperId: 'p1', redactedValue: 'gwp_abc...wxyz' };
  await project.dispatch('proj_1', 'create', { organizationId: 'org_1', name: 'p', at: at.clock.at }, context);
  await project.dispatch('proj_1', 'issueKey', { keyId: 'key_gone' }, context);
  const { head } = await projectKey.dispatch('key_1', 'create', { ...key, ...secret, at: 1 }, context);
  await at.admin.models.reached(head as bigint, 2000);
  at.clock.at += 1_000_000;
};
const done = (): string[] =>
  at.store.log.flatMap(({ type }) => (['project.key_ended', 'project_key.expired'].includes(type) ? [type] : []));

describe('the sweeper', () => {
  test('says once that the event store is away, whatever it had to do, and once that it is back', async () => {
    await leaveWork();
    const sweep = sweeper(at.admin);
    at.store.available = false;
    for (let minute = 0; minute < 3; minute++) await sweep();
    expect(told).toEqual([expect.stringMatching(/^reaction\.failed .*"stream":"the event store"/)]);
    expect(done()).toEqual([]);
    at.store.available = true;
    for (let minute = 0; minute < 3; minute++) await sweep();
    expect(told.slice(1)).toEqual(['follower.resumed {"follower":"sweeper","task":"the event store"}']);
    expect(done().sort()).toEqual(['project.key_ended', 'project_key.expired']);
    at.store.available = false;
    await leaveWork().catch(() => {});
    await sweep();
    expect(told).toHaveLength(2);
  });

  test('goes on with the other tasks where one fails of itself, and says of that one alone when it works again', async () => {
    await leaveWork();
    let isBroken = true;
    const dayKeys = {
      ...at.admin.dayKeys,
      async destroyOld() {
        if (isBroken) throw new TypeError('a folder that is none');
      },
    };
    const sweep = sweeper({ ...at.admin, dayKeys });
    for (let minute = 0; minute < 2; minute++) await sweep();
    expect(told).toEqual([expect.stringMatching(/^reaction\.failed .*"stream":"day-keys"/)]);
    expect(done().sort()).toEqual(['project.key_ended', 'project_key.expired']);
    isBroken = false;
    for (let minute = 0; minute < 2; minute++) await sweep();
    expect(told.slice(1)).toEqual(['follower.resumed {"follower":"sweeper","task":"day-keys"}']);
  });
});
