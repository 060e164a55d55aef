import { measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { weirUnderLoad } from './weir-under-load.ts';

const rate = 20_000;
const p50: BarRule = {
  id: 'open-p50',
  title: 'open loop at 20,000/s, p50 from the intended time',
  unit: 'ms',
  atMost: 0.1,
  isStrict: true,
};
const p99: BarRule = {
  id: 'open-p99',
  title: 'open loop at 20,000/s, p99 from the intended time',
  unit: 'ms',
  atMost: 2,
  isStrict: true,
};

export const openLoop: Scenario = {
  id: 'open-20k',
  title: 'GET /v1/models at 20,000 requests per second, open loop',
  about: [
    'Poisson arrivals at 20,000 per second whatever the server does; latency counts from the time a request was due.',
    'The difference to the service time, which counts from the actual send, is what a closed loop would have hidden (coordinated omission).',
  ],
  async run(stage) {
    const { weir, keys, isLimited } = await weirUnderLoad(stage);
    const plan = closedPlan(stage, modelsRequest, { arrivals: { is: 'poisson', rate } });
    const own = contender('open-models', 'Weir, GET /v1/models', { ...weir, keys }, plan, null, 'times');
    return {
      ...(await measureRounds(stage, [own], stage.settings)),
      rounds: stage.settings.rounds,
      notes: isLimited ? [] : ['the gateway enforces no limits'],
      barsOf: (results) => {
        const latency = results.get('open-models')?.latency.intended;
        return [barOf(p50, latency?.p50 ?? null), barOf(p99, latency?.p99 ?? null)];
      },
    };
  },
};
