import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { allAggregates } from '../../src/app/aggregates.ts';
import { existingEventLog } from '../../src/app/log/event-log.ts';
import { systemClock } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import type { SpendLimit } from '../../src/domain/usage/spend-limit.ts';
import { usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import { startEmbedded } from '../../src/embedded/index.ts';
import { event } from '../support/events.ts';
import { settlement } from '../usage/some-request.ts';
import { workbench } from './run.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const bench = workbench();
const { weir, json } = bench;
let store: Awaited<ReturnType<typeof startEmbedded>>;
const ids = { organization: '', project: '', limited: '', other: '' };
const monthly: SpendLimit = { amount: 5_000_000, interval: 'month' };
const total: SpendLimit = { amount: 1_000_000, interval: 'total' };

beforeAll(async () => {
  store = await startEmbedded({ dir: join(bench.env.DATA_DIR, 'eventstore'), inThread: true });
  const first = async (...argv: string[]) => (await json(...argv))[0] as Record<string, string>;
  ids.organization = (await first('org', 'create', '--new-store', '--name', 'Acme')).organization_id!;
  ids.project = (await first('project', 'create', '--name', 'research')).id!;
  ids.limited = (await first('key', 'create', ids.project, '--name', 'limited')).id!;
  ids.other = (await first('key', 'create', ids.project, '--name', 'other')).id!;
  const log = await existingEventLog(readConfig(bench.env));
  const { organization, project, projectKey } = allAggregates(log.store);
  const context = { actor: { type: 'system', id: 'test' } } as const;
  const at = systemClock.wall();
  await organization.dispatch(ids.organization, 'limitSpend', { limit: monthly }, context);
  await project.dispatch(ids.project, 'limitSpend', { limit: { ...monthly, amount: 10_000 } }, context);
  await projectKey.dispatch(ids.limited, 'update', { spendLimit: total, at }, context);
  const of = { organization_id: ids.organization, project_id: ids.project, settled_at: at };
  const settled = [ids.limited, ids.other].map((key_id, i) =>
    settlement(`r${i}`, { ...of, key_id, micro_dollars: 250_000 }),
  );
  const data = { ...usageSettled(settled) };
  await log.store.append(usageStream(at), [{ ...event(0), type: 'usage.settled', data }], 'no_stream');
  await log.close();
});
afterAll(async () => {
  await store.close();
  bench.clean();
});

describe('weir spend', () => {
  test('shows what is spent and left of every limit, and projects without one', async () => {
    const { id } = (await json('project', 'create', '--name', 'free'))[0]!;
    const shared = { spent: 0, limit: null, left: null, interval: 'month' };
    const rows = await json('spend');
    expect(rows).toMatchObject([
      { scope: 'organization', name: 'Acme', spent: 0.5, limit: 5, left: 4.5, interval: 'month', id: ids.organization },
      { scope: 'project', name: 'research', spent: 0.5, limit: 0.01, left: 0, interval: 'month', id: ids.project },
      { scope: 'key', name: 'limited', spent: 0.25, limit: 1, left: 0.75, interval: 'total', id: ids.limited },
      { scope: 'project', name: 'free', ...shared, id },
    ]);
    expect(rows.map(({ resets_at: at }) => (at === null ? null : new Date(Number(at) * 1000).getUTCDate()))).toEqual([
      1,
      1,
      null,
      1,
    ]);
    const since = rows.map(({ since: at }) => new Date(Number(at) * 1000));
    const { created_at } = (await json('key', 'show', ids.limited))[0]!;
    expect(rows[2]!.since).toBe(created_at);
    expect([since[0], since[1], since[3]].map((each) => each!.getUTCDate())).toEqual([1, 1, 1]);
    const { out } = await weir(['spend', ids.organization]);
    expect(out).toMatch(/key +limited +\$0\.25 +\$1\.00 +\$0\.75 +total/);
  });

  test('shows the limit of a chain of rotations at its newest key that works', async () => {
    const [next] = await json('key', 'rotate', ids.limited, '--grace', '24h');
    const shown = async () => (await json('spend')).filter(({ scope }) => scope === 'key');
    expect(await shown()).toMatchObject([{ id: next!.id, limit: 1, spent: 0.25 }]);
    await weir(['key', 'revoke', String(next!.id), '--yes']);
    expect(await shown()).toMatchObject([{ id: ids.limited, limit: 1, spent: 0.25 }]);
  });
});

describe('spend limits elsewhere', () => {
  test.each([
    [['org', 'show'], 'organization', '$5.00 a month'],
    [['project', 'show'], 'project', '$0.01 a month'],
    [['key', 'show'], 'limited', '$1.00 in total'],
    [['key', 'show'], 'other', 'none'],
  ] as const)('%j', async (command, of, text) => {
    expect(await json(...command, ids[of])).toMatchObject([{ spend_limit: text }]);
  });

  test('are in the state, the differences and the log of an auditor', async () => {
    const state = await weir(['audit', 'state', ids.limited]);
    expect(state.out).toMatch(/spend_limit +\$1\.00 in total/);
    expect((await weir(['audit', 'state', ids.other])).out).toMatch(/spend_limit +none/);
    const span = ['--from', '2020-01-01', '--to', '2100-01-01'];
    expect((await weir(['audit', 'diff', ids.project, ...span])).out).toMatch(/spend_limit\.amount +none → \$0\.01/);
    const entries = await json('audit', 'log', '--type', 'project_key.spend_limited');
    expect(entries).toHaveLength(3);
    const { out } = await weir(['audit', 'log', '--type', 'spend_limit.updated']);
    expect(out).toMatch(/new spend_limit +\$1\.00 in total/);
    expect(out).toMatch(/new spend_limit +\$5\.00 a month/);
  });
});
