import { measureRounds } from '../measure.ts';
import { type BarRule, barOf, notYet } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import { closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { weirUnderLoad } from './weir-under-load.ts';

const tenants = 2_000;
const flood = 10_000;

const others: BarRule = {
  id: 'flood-others',
  title: "p99 of other organizations' requests under a flood of refusals, beside without",
  unit: '×',
  atMost: 1.3,
};

const calm = { ...modelsRequest, name: 'tenant', weight: tenants };

/** The 99th percentile of the tenants alone. */
const tenantP99 = (result: ContenderResult | undefined): number | null =>
  (result?.latency['intended tenant'] ?? result?.latency.intended)?.p99 ?? null;

export const rejectFlood: Scenario = {
  id: 'reject-flood',
  title: 'One key floods, the others must not notice',
  about: [
    `Open loop: ${tenants.toLocaleString('en-US')} requests per second of 12,000 keys alone, and then with ${flood.toLocaleString('en-US')} more of one key whose limit is 60 a minute. Both go to the same thread.`,
  ],
  async run(stage) {
    const { weir, keys, isLimited } = await weirUnderLoad(stage);
    if (!isLimited) return { barsOf: () => [notYet(others, 'the gateway enforces no limits yet')] };
    const [key = ''] = weir.keys.keys as readonly string[];
    // Its key is in the request itself: the others are drawn from the file.
    const flooding = {
      ...modelsRequest,
      name: 'flood',
      weight: flood,
      before: `${modelsRequest.before}${key}${modelsRequest.after}`,
      after: null,
    };
    const target = { ...weir, keys };
    const plan = (rate: number) => closedPlan(stage, calm, { arrivals: { is: 'poisson', rate }, expected: null });
    const found = await measureRounds(
      stage,
      [
        contender('quiet', 'tenants alone', target, plan(tenants), null, 'times'),
        contender(
          'flooded',
          'tenants under the flood',
          target,
          { ...plan(tenants + flood), requests: [calm, flooding] },
          null,
          'times',
        ),
      ],
      stage.settings,
    );
    return {
      ...found,
      rounds: stage.settings.rounds,
      barsOf: (results) => {
        const [without, under] = [tenantP99(results.get('quiet')), tenantP99(results.get('flooded'))];
        return [barOf(others, without && under ? under / without : null)];
      },
    };
  },
};
