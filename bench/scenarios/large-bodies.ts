import { measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { closedPlan, contender } from './plans.ts';
import { messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, smallCrowd, weirUnderLoad } from './weir-under-load.ts';

const rate = 1_000;
const mebibyte = 2 ** 20;

const memory: BarRule = {
  id: 'large-rss',
  title: 'resident memory under 1,000 messages of 64 KB a second, at its highest',
  unit: 'MB',
  atMost: 170,
};

const request = messageRequest({ model: forwarded, bodyBytes: 64 * 1024, maxTokens: 64, stream: false });

export const largeBodies: Scenario = {
  id: 'large-bodies',
  title: 'Messages of 64 KB at 1,000 requests per second, open loop',
  about: [
    'Poisson arrivals at 1,000 per second, each with a body of 64 KB that goes on to the mock: what a gateway holds of requests while they are under way, and how soon it lets go of them.',
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [smallCrowd] });
    const plan = closedPlan(stage, request, { arrivals: { is: 'poisson', rate } });
    const own = contender('large', 'Weir to the mock, 64 KB', { ...weir, keys }, plan, null, 'times');
    return {
      ...(await measureRounds(stage, [own], stage.settings)),
      rounds: stage.settings.rounds,
      barsOf: (results) => {
        const rss = results.get('large')?.rss ?? null;
        return [barOf(memory, rss === null ? null : rss / mebibyte)];
      },
    };
  },
};
