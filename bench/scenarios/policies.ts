import { join } from 'node:path';
import { readKeys } from '../gen/requests.ts';
import { type Contender, measureRounds } from '../measure.ts';
import { cpuNanos } from '../micro/loop.ts';
import { ruleMicros, typicalRules } from '../micro/rules.ts';
import { administer } from '../peers/administrator.ts';
import { seedOrganizations } from '../peers/seed.ts';
import type { Weir } from '../peers/weir.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { cpuRatio } from '../report/contender.ts';
import type { Seeded } from '../seed/beside.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import type { Stage } from '../stage.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, smallCrowd, weirUnderLoad } from './weir-under-load.ts';

const modes = { monitoring: 'monitor', enforcing: 'block' } as const;
type Mode = keyof typeof modes;

const beside = (mode: Mode): BarRule => ({
  id: `policies-${mode}`,
  title: `POST /v1/messages to a mock, 0.6 KB, with one ${mode} policy, CPU beside none`,
  unit: '×',
  atMost: 1.25,
});
const each: BarRule = {
  id: 'policies-rule',
  title: 'each further rule on a request of twenty messages, CPU in a tight loop',
  unit: 'µs',
  atMost: 10,
};

const [rule] = typicalRules;

/** Publishes the policy in an organization, by its own administrator, and returns its id. */
const publishIn = async (weir: Weir, { admin_api_key: key }: Seeded, mode: Mode): Promise<string> => {
  const path = '/v1/organization/policies';
  const { id, revision } = await administer<{ id: string; revision: number }>(weir, key, path, {
    name: 'bench',
    rule,
    mode,
  });
  await administer(weir, key, `${path}/${id}/publish`, { revision });
  return id;
};

/** @throws Error where the policy does not act: then there is nothing to measure */
const checkActs = async (weir: Weir, key: string, id: string, mode: Mode): Promise<void> => {
  const { host, port } = weir.address;
  const messages = [{ role: 'user', content: 'About Project Nightfall' }];
  const response = await fetch(`http://${host}:${port}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: forwarded, max_tokens: 5, policy_ids: [id], messages }),
  });
  await response.arrayBuffer();
  const decision = response.headers.get('x-policy-decision');
  if (decision !== modes[mode]) throw new Error(`The ${mode} policy has not acted: ${response.status}, ${decision}.`);
};

/** Organizations of which each has the policy, and their keys. */
const crowdWith = async (stage: Stage, weir: Weir, mode: Mode) => {
  const file = join(weir.dataDir, `${mode}.ndjson`);
  const seeded = await seedOrganizations(stage, weir, smallCrowd, file);
  const ids = await Promise.all(seeded.map((one) => publishIn(weir, one, mode)));
  await checkActs(weir, readKeys(file)[0]!, ids[0]!, mode);
  return { keys: { file }, zipf: 0 };
};

export const policies: Scenario = {
  id: 'policies',
  title: 'POST /v1/messages with policies in force',
  about: [
    `Closed loop with bodies of 0.6 KB to a mock that answers at once, in one gateway: keys of organizations without policies, and of as many with one monitoring and with one enforcing policy each, whose rule reads all text and does not match: \`${rule}\`.`,
    'Rules alone are measured in a tight loop, on the twenty messages of an agent (8 KB) whose texts are there: they are made once for all rules of a request.',
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [smallCrowd] });
    const plan = closedPlan(stage, messageRequest({ model: forwarded, bodyBytes: 600, maxTokens: 64, stream: false }));
    const contenders: Contender[] = [
      await bareContender(stage),
      contender('policies-none', 'Weir to the mock, no policy', { ...weir, keys }, plan, 'hello', 'proxied'),
    ];
    for (const mode of ['monitoring', 'enforcing'] as const) {
      const target = { ...weir, keys: await crowdWith(stage, weir, mode) };
      const label = `Weir to the mock, one ${mode} policy`;
      contenders.push(contender(`policies-${mode}`, label, target, plan, 'hello', 'proxied'));
    }
    const micros = ruleMicros();
    const roundMs = 200;
    const found = await measureRounds(stage, contenders, stage.settings);
    const nanos = cpuNanos([micros.each, micros.first], roundMs);
    const micro = (name: string) => {
      const { median, low, high } = nanos.get(name)!;
      return { median: median / 1000, low: low / 1000, high: high / 1000 };
    };
    return {
      ...found,
      rounds: stage.settings.rounds,
      notes: [`${micros.first.name}: ${micro(micros.first.name).median.toFixed(1)} µs`],
      barsOf: (results) => [
        ...(['monitoring', 'enforcing'] as const).map((mode) =>
          barOf(beside(mode), cpuRatio(results.get(`policies-${mode}`), results.get('policies-none'))),
        ),
        barOf(each, micro(micros.each.name)),
      ],
    };
  },
};
