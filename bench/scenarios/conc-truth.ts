import { setTimeout as sleep } from 'node:timers/promises';
import { limitsFor, tiers } from '../../src/domain/organization/tiers.ts';
import { randomFrom } from '../gen/random.ts';
import { fileFor } from '../peers/seed.ts';
import { type BarRule, barOf, notYet } from '../report/bar.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { Client, type Holder } from '../truth/ask.ts';
import { type Flight, judgeConcurrency, noticeMs } from '../truth/concurrency-oracle.ts';
import type { ScopeLimits } from '../truth/window-oracle.ts';
import { holdersOf } from './holders.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, isLimited, upstreamEnv } from './weir-under-load.ts';

const rule: BarRule = {
  id: 'conc-truth',
  title: 'concurrency recounted by the client: violations of any promise',
  unit: '',
  atMost: 0,
};

const limits: ScopeLimits = {
  key: limitsFor(0, 'key').concurrent,
  project: limitsFor(0, 'project').concurrent,
  organization: limitsFor(0, 'organization').concurrent,
};

const lengthMs = 12_000;
const behaviour = {
  ...plainBehaviour,
  ttftMs: 80,
  ttftSigma: 0.3,
  itlMs: 20,
  itlSigma: 0.3,
  tokens: 20,
  errors: 0.03,
  aborts: 0.03,
};

/** The Free tier's slots with a minute and a day that are in nobody's way. */
const wideTiers = (): string =>
  JSON.stringify({ tiers: tiers.map((row) => ({ ...row, rpm: 20_000, rpd: 2_000_000, tpm: 50_000_000 })) });

export const concTruth: Scenario = {
  id: 'conc-truth',
  title: 'Concurrency truth: the slots, recounted by the client',
  about: [
    `Three keys of one organization start bursts of up to ${2 * limits.key} streams for ${lengthMs / 1000} s; three in ten are left in their middle, and the mock fails or cuts some of them. Then, when all has ended, exactly as many as there are slots (${limits.key}, ${limits.project}, ${limits.organization} of key, project, organization) must be admitted at once.`,
  ],
  async run(stage) {
    const sim = await stage.sim(behaviour);
    const weir = await stage.weir({
      ...upstreamEnv(stage, sim),
      TIERS_FILE: fileFor(stage, 'tiers.json', wideTiers()),
    });
    if (!(await isLimited(weir)))
      return { rounds: null, barsOf: () => [notYet(rule, 'the gateway enforces no limits yet')] };
    const holders = await holdersOf(stage, weir);
    const random = randomFrom(stage.settings.seed);
    const client = new Client(weir.address);
    const under: Promise<Flight>[] = [];
    try {
      const began = performance.now();
      for (let now = began; now - began < lengthMs && !stage.interrupted.aborted; now = performance.now()) {
        stage.tell('bursts of streams', (now - began) / lengthMs);
        const holder = holders[Math.floor(random() * holders.length)]!;
        const size = 1 + Math.floor(random() * 2 * limits.key);
        for (let i = 0; i < size; i++) {
          const abortAfter = random() < 0.3 ? random() * 400 : null;
          under.push(client.stream(holder, forwarded, 64, abortAfter));
        }
        await sleep(random() * 300);
      }
      const flights = await Promise.all(under);
      await sleep(noticeMs);
      const afterwards = await fill(client, holders);
      const truth = judgeConcurrency(flights, limits, afterwards);
      const violations = truth.reduce((sum, row) => sum + row.violations, 0);
      const notes = [
        `${flights.length} streams, ${flights.filter(({ isRefused }) => isRefused).length} of them refused`,
      ];
      return { rounds: null, truth, notes, barsOf: () => [barOf(rule, violations)] };
    } finally {
      client.close();
    }
  },
};

/** As many streams at once as every scope admits: the first key's, then the project's, then the organization's. */
const fill = (client: Client, holders: readonly Holder[]): Promise<Flight[]> => {
  const counts = [limits.key, limits.project - limits.key, limits.organization - limits.project];
  const all = holders.flatMap((holder, i) => Array.from({ length: counts[i]! }, () => holder));
  return Promise.all(all.map((holder) => client.stream(holder, forwarded, 64, null)));
};
