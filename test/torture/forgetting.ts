import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { seedBeside } from '../../bench/seed/beside.ts';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { type Gateway, inStore, startGateway, untilKnown } from './gateway.ts';
import { seeded } from './random.ts';
import { Scene } from './scene.ts';

const limits = { rpd: 300, tpm: 20_000 };
/** Nothing else is to refuse anybody. */
const table = tiers.map(({ paid, subscription }) => ({
  paid,
  subscription,
  ...limits,
  rpm: 30_000,
  tpd: 1_000_000_000,
  concurrent: { key: 100, project: 100, organization: 100 },
}));
const killedAt = 0.9;
/** Both limits are used up to that share in about this time. */
const lifeMs = 1_600;
/**
 * The period of the snapshots, and as much again as writing one may take on a machine that is busy: what was admitted in
 * that time may be forgotten.
 */
const forgottenMs = 1_000;
/** Windows that began half full are as they would have been. */
const minuteMs = 61_000;
const lateMs = 500;

/** A key of each of so many organizations, which are made beside the running gateway. */
const keysOf = async (organizations: number, env: Readonly<Record<string, string>>): Promise<string[]> => {
  const out = join(env.DATA_DIR!, 'keys.ndjson');
  await seedBeside(env, { organizations, projects: 1, keys: 1, tier: 0 }, out);
  const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
  return lines.map((line) => (JSON.parse(line) as { readonly value: string }).value);
};

/** What a client has been let have of one limit, as its answers tell. */
interface Spent {
  readonly limit: number;
  /** When, and how much. */
  readonly entries: { readonly at: number; readonly amount: number }[];
  readonly ask: (gateway: Gateway) => Promise<number | null>;
}

const sum = (entries: Spent['entries']): number => entries.reduce((total, { amount }) => total + amount, 0);
const since = ({ entries }: Spent, at: number): number => sum(entries.filter((entry) => entry.at >= at));

/** Requests of the day: each that is admitted is one. */
const requests = (key: string): Spent => ({
  limit: limits.rpd,
  entries: [],
  async ask({ baseUrl }) {
    const response = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    return response.status === 200 ? 1 : null;
  },
});

/** Tokens of the minute: each that is admitted has used what its answer says. */
const tokens = (key: string): Spent => ({
  limit: limits.tpm,
  entries: [],
  async ask({ baseUrl }) {
    const response = await fetch(`${baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'weir-sim-1', max_tokens: 150, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const body = (await response.json()) as { usage: { input_tokens: number; output_tokens: number } };
    return response.status === 200 ? body.usage.input_tokens + body.usage.output_tokens : null;
  },
});

/** Uses a limit up, evenly where it says in what time, until it is told to stop or refused. */
const spend = async (gateway: Gateway, spent: Spent, isOver: () => boolean, inMs = 0): Promise<void> => {
  const began = performance.now();
  const used = sum(spent.entries);
  while (!isOver()) {
    const amount = await spent.ask(gateway).catch(() => null);
    if (amount === null) return;
    spent.entries.push({ at: performance.now(), amount });
    const due = began + ((sum(spent.entries) - used) / (spent.limit * killedAt)) * inMs;
    if (due > performance.now()) await wait(due - performance.now());
  }
};

/**
 * G5: kills a gateway while its clients have used 90 % of a limit on the requests of a day and of one on the tokens of a
 * minute, starts it again and lets them take what they get: together not more than the limit and what was admitted in the
 * last second before. The canary removes the snapshots.
 */
export async function torturedByForgetting(
  { count, seed, from = 0, canary, store }: Plan,
  figures: Figures,
): Promise<void> {
  const scene = new Scene();
  const extra: number[] = [];
  try {
    const dir = join(scene.dir(), 'data');
    const tiersFile = `${dir}.tiers.json`;
    writeFileSync(tiersFile, JSON.stringify({ tiers: table }));
    scene.later(() => rmSync(tiersFile, { force: true }));
    const env = { DATA_DIR: dir, TIERS_FILE: tiersFile, ...inStore(store) };
    let gateway = await startGateway(scene, dir, env);
    // On a log that somebody has used before, a gateway without snapshots begins with its windows half full.
    if (store !== undefined) await wait(minuteMs);
    const keys = await keysOf(2 * count + 1, env);
    await untilKnown(gateway, '/v1/models', keys.pop()!);
    for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
      const random = seeded(seed, cycle);
      const all = [requests(keys.pop()!), tokens(keys.pop()!)];
      // Anywhere between two snapshots.
      await wait(random.between(0, 1_000));
      const isOver = () => all.some((each) => sum(each.entries) >= each.limit * killedAt);
      const spending = all.map((each) => spend(gateway, each, isOver, lifeMs));
      await Promise.race(spending);
      const killed = performance.now();
      await gateway.kill();
      await Promise.all(spending);
      if (!isOver()) complain(figures, `cycle ${cycle}: somebody was refused before the kill`);
      if (canary) rmSync(join(dir, 'limits'), { recursive: true, force: true });
      gateway = await startGateway(scene, dir, env);
      figures.restartMs.push(gateway.readyMs);
      for (const each of all) {
        await spend(gateway, each, () => sum(each.entries) > each.limit * 3);
        const over = Math.max(0, sum(each.entries) - each.limit);
        const mayBe = since(each, killed - forgottenMs - lateMs) - since(each, killed + 1);
        figures.acknowledged += each.entries.length;
        extra.push(over / each.limit);
        // As much as one more answer took is no forgetting: its tokens are reserved, and known when it is there.
        if (over > mayBe) {
          complain(
            figures,
            `cycle ${cycle}: ${over} above the limit of ${each.limit}, where ${mayBe} had come in the last moments before the kill`,
          );
        }
      }
    }
    const most = Math.max(0, ...extra) * 100;
    const mean = (extra.reduce((total, each) => total + each, 0) / Math.max(1, extra.length)) * 100;
    figures.notes.push(`above the limit: ${mean.toFixed(0)} % of it, at most ${most.toFixed(0)} %`);
  } finally {
    await scene.end();
  }
}
