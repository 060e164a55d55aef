import { readKeys } from '../gen/requests.ts';
import { type Contender, measureRounds } from '../measure.ts';
import { startProxies } from '../peers/proxies.ts';
import { type BarRule, barOf, notYet } from '../report/bar.ts';
import { type ContenderResult, cpuRatio } from '../report/contender.ts';
import { requestsIn } from '../report/figures.ts';
import { whoOf } from '../report/who.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { answerOf, refusedKeys, weirUnderLoad } from './weir-under-load.ts';

const sameEntry = new URL('../peers/uws-same.ts', import.meta.url);

/** Equal reply bytes on both sides. Beside the five bytes of `hello` it is the unit's column. */
const cpu: BarRule = {
  id: 'models-cpu',
  title: 'GET /v1/models, CPU per request beside bare uWebSockets.js, same request and answer',
  unit: '×',
  atMost: 1.5,
};
const besides = (name: string): BarRule => ({
  id: `models-${name}`,
  title: `GET /v1/models, CPU per request beside ${whoOf(name)} with three request rates`,
  unit: '×',
  atMost: 1.1,
});
const refusal: BarRule = {
  id: 'refusal-cpu',
  title: 'a 429, CPU per request beside the 200',
  unit: '×',
  atMost: 1,
  isStrict: true,
};

const unlimited = 'the gateway enforces no limits, so this is authentication, routing and headers alone';

const shareOf = (status: string, { statuses }: ContenderResult): number =>
  (statuses[status] ?? 0) / requestsIn(statuses);

export const models: Scenario = {
  id: 'models',
  title: 'GET /v1/models: what the gateway itself costs',
  about: [
    'Closed loop over keep-alive connections. Weir: authentication, every limit of three scopes, every header; 12,000 keys of 3,000 organizations at tier 5, so that nothing is refused.',
    'The refusals are of one key of the Free tier, far above its 60 a minute. HAProxy and nginx count three request rates per request and answer with the same body; the second bare server takes the same requests and writes the same headers and body. The unit takes a request without a key and writes five bytes.',
  ],
  async run(stage) {
    const { weir, keys, isLimited } = await weirUnderLoad(stage);
    const plan = closedPlan(stage, modelsRequest);
    const [key = ''] = 'file' in keys.keys ? readKeys(keys.keys.file) : keys.keys;
    const answer = await answerOf(weir, '/v1/models', key);
    const same = await stage.server('same', 'The bare server with the same answer', sameEntry, answer);
    const contenders: Contender[] = [
      await bareContender(stage),
      contender('same', 'bare uWebSockets.js, the same bytes', { ...same, keys }, plan),
      contender('models', 'Weir, GET /v1/models', { ...weir, keys }, plan),
    ];
    const notes: string[] = isLimited ? [] : [unlimited];
    if (isLimited) {
      const target = { ...weir, keys: refusedKeys(weir) };
      contenders.push(contender('refused', 'Weir, a 429', target, { ...plan, expected: null }, 'models'));
    }
    if (stage.settings.withPeers) {
      const peers = await startProxies(stage, { body: Buffer.from(answer.body), upstreamPort: null });
      notes.push(...peers.notes);
      for (const target of peers.targets) {
        contenders.push(
          contender(target.name, `${whoOf(target.name)}, three request rates`, { ...target, keys }, plan),
        );
      }
    }
    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      notes,
      barsOf: (results) => {
        const own = results.get('models');
        const refused = results.get('refused');
        const note = isLimited ? null : unlimited;
        return [
          barOf(cpu, cpuRatio(own, results.get('same')), note),
          ...['haproxy', 'nginx'].map((name) =>
            barOf(
              besides(name),
              cpuRatio(own, results.get(name)),
              results.has(name) ? note : `${whoOf(name)} was not measured`,
            ),
          ),
          !isLimited
            ? notYet(refusal, 'the gateway enforces no limits yet')
            : refused && shareOf('429', refused) > 0.99
              ? barOf(refusal, cpuRatio(refused, own))
              : barOf(refusal, null, 'fewer than 99 % of the answers were refusals'),
        ];
      },
    };
  },
};
