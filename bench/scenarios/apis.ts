import { type Contender, measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { cpuRatio } from '../report/contender.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { bareContender, closedPlan, contender } from './plans.ts';
import { type Api, messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, forwardedOpenai, inProcess, warmCrowd, weirUnderLoad } from './weir-under-load.ts';

const others = { chat: 'POST /v1/chat/completions', responses: 'POST /v1/responses' } as const;
const apis: readonly Api[] = ['messages', 'chat', 'responses'];

interface Work {
  readonly name: string;
  readonly label: string;
  readonly stream: boolean;
  readonly modelOf: (api: Api) => string;
}

const own = () => inProcess;
const passing = (api: Api) => (api === 'messages' ? forwarded : forwardedOpenai);
const works: readonly Work[] = [
  { name: 'own', label: "the gateway's own part", stream: false, modelOf: own },
  { name: 'own-stream', label: "the gateway's own part, streamed", stream: true, modelOf: own },
  { name: 'passed', label: 'to the mock, which speaks it', stream: false, modelOf: passing },
  { name: 'passed-stream', label: 'to the mock, which speaks it, streamed', stream: true, modelOf: passing },
];

const nameOf = (api: Api, { name }: Work): string => `${api}-${name}`;

const beside = (api: keyof typeof others, work: Work): BarRule => ({
  id: `apis-${nameOf(api, work)}`,
  title: `${others[api]}, ${work.label}, CPU beside the same work of POST /v1/messages`,
  unit: '×',
  atMost: 1.15,
});

export const otherApis: Scenario = {
  id: 'apis',
  title: 'Chat completions and responses beside messages',
  about: [
    'Closed loop with bodies of 0.6 KB, 32 tokens back: the same work in the words of the three APIs, whole and streamed, on a model that Weir simulates in its process, and forwarded to a mock that speaks the API of the client.',
    "The mock shares the generator's core, so only CPU per request is compared.",
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [warmCrowd] });
    const target = { ...weir, keys };
    const contenders: Contender[] = [await bareContender(stage)];
    for (const work of works) {
      for (const api of apis) {
        const { stream, modelOf, label } = work;
        const request = messageRequest({ api, model: modelOf(api), bodyBytes: 600, maxTokens: 64, stream });
        const name = nameOf(api, work);
        contenders.push(contender(name, `Weir, ${api}, ${label}`, target, closedPlan(stage, request)));
      }
    }
    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      barsOf: (results) =>
        works.flatMap((work) => {
          const messages = results.get(nameOf('messages', work));
          return (['chat', 'responses'] as const).map((api) =>
            barOf(beside(api, work), cpuRatio(results.get(nameOf(api, work)), messages)),
          );
        }),
    };
  },
};
