import { bundled } from '../build.ts';
import { measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { type ContenderResult, cpuSeries } from '../report/contender.ts';
import { type Estimate, estimate } from '../report/statistics.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { helloRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';

const inside: BarRule = {
  id: 'limits-inside',
  title: 'the limits of three scopes inside a handler, CPU per request beyond the bare server',
  unit: 'µs',
  atMost: 1.6,
};

/** CPU per request of one beyond that of the other, round by round. */
const beyond = (one: ContenderResult | undefined, other: ContenderResult | undefined): Estimate | null => {
  const [values, bare] = [cpuSeries(one?.windows ?? []), cpuSeries(other?.windows ?? [])];
  if (!values?.length || values.length !== bare?.length) return null;
  return estimate(values.map((value, i) => value - bare[i]!));
};

export const limitsInside: Scenario = {
  id: 'limits-inside',
  title: 'The rate limits inside a handler',
  about: [
    'GET / answered with five bytes by bare uWebSockets.js, and by the same with one request of a hundred thousand Free keys counted, reserved and settled at key, project and organization before the answer. No key is looked up and no header is written, so the difference is the window store alone, with the caches as the kernel leaves them.',
  ],
  async run(stage) {
    const bare = await bareContender(stage);
    const entry = bundled(new URL('../peers/uws-limited.ts', import.meta.url));
    const target = await stage.server('limited', 'The bare server with limits', entry);
    const contenders = [bare, contender('limited', 'the same with limits', target, closedPlan(stage, helloRequest))];
    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      barsOf: (results) => [barOf(inside, beyond(results.get('limited'), results.get('hello')))],
    };
  },
};
