import { type Contender, measureRounds } from '../measure.ts';
import { settled } from '../peers/seed.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { weirUnderLoad } from './weir-under-load.ts';

const longestPauseMs = 20;
/** Two projects with eight keys each. */
const perOrganization = 16;
const exponent = 1;

/** Many keys, a few of them hot: what caches and memory make of it. */
const zipfScenario = (id: string, keyCount: number): Scenario => {
  const pauses: BarRule = {
    id: `${id}-gc`,
    title: `longest garbage collection with ${keyCount.toLocaleString('en-US')} keys`,
    unit: 'ms',
    atMost: longestPauseMs,
  };
  return {
    id,
    title: `${keyCount.toLocaleString('en-US')} keys by Zipf's law`,
    about: [
      `GET /v1/models in a closed loop with ${keyCount.toLocaleString('en-US')} keys of ${(keyCount / perOrganization).toLocaleString('en-US')} organizations at tier 5, drawn by Zipf's law with exponent ${exponent}. The hottest keys reach their limits, so the share of 429 belongs beside every rate.`,
    ],
    async run(stage) {
      const crowds = [{ organizations: keyCount / perOrganization, projects: 2, keys: perOrganization, tier: 5 }];
      const { weir, keys, isLimited } = await weirUnderLoad(stage, { crowds, zipf: exponent });
      await settled(stage, weir);
      const plan = closedPlan(stage, modelsRequest, { expected: null });
      const contenders: Contender[] = [
        await bareContender(stage),
        contender('zipf', `Weir, ${keyCount.toLocaleString('en-US')} keys`, { ...weir, keys }, plan),
      ];
      return {
        ...(await measureRounds(stage, contenders, stage.settings)),
        rounds: stage.settings.rounds,
        notes: isLimited ? [] : ['the gateway enforces no limits: this is the look-up of keys alone'],
        barsOf: (results) => [barOf(pauses, results.get('zipf')?.gcLongest ?? null)],
      };
    },
  };
};

export const zipf1e5 = zipfScenario('zipf-1e5', 100_000);
export const zipf1e6 = zipfScenario('zipf-1e6', 1_000_000);
