import { setTimeout as sleep } from 'node:timers/promises';
import { loadNow, machineTicks, stealShare } from '../machine/proc-stat.ts';
import { type Measured, measureOnce } from '../measure.ts';
import { administer } from '../peers/administrator.ts';
import type { Weir } from '../peers/weir.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { weirUnderLoad } from './weir-under-load.ts';

const rate = 5_000;
/** Below the 300 a minute that a credential may send. */
const commandsPerSecond = 4;

const unchanged: BarRule = {
  id: 'admin-mix',
  title: 'p99 of hot requests while keys are made and policies paused, beside without',
  unit: '×',
  atMost: 1.3,
};

/** Makes keys and pauses and resumes a policy, until it is told to stop; returns how many commands it has sent. */
const keepBusy = async (weir: Weir, stop: AbortSignal): Promise<number> => {
  const post = (path: string, body: object) =>
    administer<Record<string, unknown>>(weir, weir.adminKey, `/v1/organization${path}`, body);
  const made = await post('/policies', { name: 'bench', rule: 'false' });
  let { revision } = await post(`/policies/${made.id}/publish`, { revision: made.revision });
  let sent = 2;
  for (let isLive = true; !stop.aborted; sent++) {
    const began = performance.now();
    if (sent % 2 === 0) {
      await post(`/projects/${weir.projectId}/api_keys`, { name: `bench ${sent}` });
    } else {
      ({ revision } = await post(`/policies/${made.id}/${isLive ? 'pause' : 'resume'}`, { revision }));
      isLive = !isLive;
    }
    await sleep(Math.max(0, 1000 / commandsPerSecond - (performance.now() - began)));
  }
  return sent;
};

export const adminMix: Scenario = {
  id: 'admin-mix',
  title: 'Administration beside hot requests',
  about: [
    `Open loop of ${rate.toLocaleString('en-US')} requests per second, in turns without and with ${commandsPerSecond} commands per second (keys created, a policy paused and resumed), each with its append and fsync.`,
  ],
  async run(stage) {
    const { weir, keys } = await weirUnderLoad(stage);
    const plan = closedPlan(stage, modelsRequest, { arrivals: { is: 'poisson', rate }, expected: null });
    const contenders = [
      contender('quiet', 'hot requests alone', { ...weir, keys }, plan, null, 'times'),
      contender('mixed', 'hot requests and commands', { ...weir, keys }, plan, 'quiet', 'times'),
    ] as const;
    const { rounds } = stage.settings;
    const seconds = Math.max(2, stage.settings.seconds);
    const measured = contenders.map((one) => ({
      contender: one,
      samples: [] as Measured['samples'][number][],
      inside: [] as Measured['inside'][number][],
    }));
    const before = { load: loadNow(), ticks: machineTicks() };
    let commands = 0;
    await measureOnce(stage, contenders[0], stage.settings.warmUpSeconds);
    for (let round = 1; round <= rounds && !stage.interrupted.aborted; round++) {
      for (const { contender: one, samples, inside } of measured) {
        stage.tell(`round ${round} of ${rounds}: ${one.label}`, (round - 1) / rounds);
        const stop = new AbortController();
        const administered = one.name === 'mixed' ? keepBusy(weir, stop.signal) : Promise.resolve(0);
        // It is awaited below; a failure meanwhile must not end the process.
        administered.catch(() => {});
        const once = await measureOnce(stage, one, seconds).finally(() => stop.abort());
        commands += await administered;
        samples.push(once.sample);
        inside.push(once.inside);
      }
    }
    return {
      measured,
      surroundings: {
        load: { before: before.load, after: loadNow() },
        steal: stealShare(before.ticks, machineTicks()),
      },
      rounds,
      notes: [`${commands} commands were carried out`],
      barsOf: (results) => [barOf(unchanged, results.get('mixed')?.p99Ratio ?? null)],
    };
  },
};
