import { setTimeout as sleep } from 'node:timers/promises';
import { limitsFor } from '../../src/domain/organization/tiers.ts';
import { randomFrom } from '../gen/random.ts';
import { type BarRule, barOf, notYet } from '../report/bar.ts';
import { Client, type Holder } from '../truth/ask.ts';
import { type Attempt, judgeWindow, type ScopeLimits, windowMs } from '../truth/window-oracle.ts';
import { holdersOf } from './holders.ts';
import type { Scenario } from './scenario.ts';
import { isLimited } from './weir-under-load.ts';

const rule: BarRule = {
  id: 'window-truth',
  title: "limits recounted by the client: violations of any promise about a minute's window",
  unit: '',
  atMost: 0,
};

/** How long bursts go on; they cross the edges of three windows. */
const burstMs = 2.2 * windowMs;
/** Refusals that are waited out, one after another. */
const waits = 2;

const limits: ScopeLimits = {
  key: limitsFor(0, 'key').rpm,
  project: limitsFor(0, 'project').rpm,
  organization: limitsFor(0, 'organization').rpm,
};

/** Bursts of one to a whole limit, many of them just before and just after a minute since the last great one. */
const burst = async (
  client: Client,
  holders: readonly Holder[],
  untilMs: number,
  seed: number,
  cut: AbortSignal,
): Promise<Attempt[]> => {
  const random = randomFrom(seed);
  const attempts: Attempt[] = [];
  let edge = performance.now() + windowMs;
  while (performance.now() < untilMs && !cut.aborted) {
    const holder = holders[Math.floor(random() * holders.length)]!;
    const isGreat = random() < 0.08;
    const size = isGreat ? Math.ceil(limits.key * (0.5 + random() * 0.6)) : 1 + Math.floor(random() * 4);
    attempts.push(...(await Promise.all(Array.from({ length: size }, () => client.attempt(holder)))));
    const now = performance.now();
    // Every other pause ends within 40 ms of a window's edge.
    const toEdge = edge - now + (random() - 0.5) * 80;
    const pause = random() < 0.5 && toEdge > 0 && toEdge < 8_000 ? toEdge : random() * 3_000;
    if (now > edge) edge = now + windowMs;
    await sleep(pause, undefined, { signal: cut }).catch(() => {});
  }
  return attempts;
};

/** Refusals with nobody else about: each waits as long as it was told and asks again. */
const waitOut = async (client: Client, holders: readonly Holder[], cut: AbortSignal): Promise<Attempt[]> => {
  const attempts: Attempt[] = [];
  for (let i = 0; i < waits && !cut.aborted; i++) {
    const holder = holders[i % holders.length]!;
    let refused: Attempt | undefined;
    for (let tries = 0; refused === undefined && tries <= 2 * limits.organization; tries++) {
      const attempt = await client.attempt(holder);
      attempts.push(attempt);
      if (attempt.isRefused) refused = attempt;
    }
    if (refused?.retryAfter == null) continue;
    await sleep(refused.retryAfter * 1000, undefined, { signal: cut }).catch(() => {});
    if (!cut.aborted) attempts.push(await client.attempt(holder, true));
  }
  return attempts;
};

export const windowTruth: Scenario = {
  id: 'window-truth',
  title: 'Window truth: the limits, recounted by the client',
  about: [
    `Three keys of one Free organization, two of them in one project, send bursts at the edges of the minute for ${burstMs / 1000} s; then ${waits} refusals are waited out. Every claim is held against what the client saw, to the millisecond: ${limits.key}, ${limits.project} and ${limits.organization} per minute of key, project and organization.`,
  ],
  async run(stage) {
    const weir = await stage.weir();
    if (!(await isLimited(weir)))
      return { rounds: null, barsOf: () => [notYet(rule, 'the gateway enforces no limits yet')] };
    const holders = await holdersOf(stage, weir);
    const client = new Client(weir.address);
    try {
      const began = performance.now();
      const ticking = setInterval(
        () => stage.tell('bursts at the edges of the window', (performance.now() - began) / (2 * burstMs)),
        500,
      );
      const attempts = await burst(client, holders, began + burstMs, stage.settings.seed, stage.interrupted)
        .then(async (sent) => [...sent, ...(await waitOut(client, holders, stage.interrupted))])
        .finally(() => clearInterval(ticking));
      const truth = judgeWindow(attempts, limits);
      const violations = truth.reduce((sum, row) => sum + row.violations, 0);
      return { rounds: null, truth, barsOf: () => [barOf(rule, violations, `${attempts.length} attempts`)] };
    } finally {
      client.close();
    }
  },
};
