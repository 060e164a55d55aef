import { type Contender, measureRounds } from '../measure.ts';
import { startLiteLlm } from '../peers/litellm.ts';
import { portkeyFields, startPortkey } from '../peers/portkey.ts';
import { startProxies } from '../peers/proxies.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { type ContenderResult, cpuRatio } from '../report/contender.ts';
import { whoOf } from '../report/who.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { formerOf } from './gate.ts';
import { bareContender, closedPlan, contender, otherTargets } from './plans.ts';
import { type MessageOptions, messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, inProcess, warmCrowd, weirUnderLoad } from './weir-under-load.ts';

const own: BarRule = {
  id: 'messages-own',
  title: "POST /v1/messages, the gateway's own part beside bare uWebSockets.js",
  unit: '×',
  atMost: 2.9,
};
const portkey: BarRule = {
  id: 'messages-portkey',
  title: 'POST /v1/messages to a mock, CPU of Portkey beside it',
  unit: '×',
  atLeast: 35,
};
const litellm: BarRule = {
  id: 'messages-litellm',
  title: "POST /v1/messages to a mock, CPU of LiteLLM's proxy beside it",
  unit: '×',
  atLeast: 140,
};

interface Body extends Pick<MessageOptions, 'bodyBytes' | 'shape' | 'stream'> {
  readonly name: string;
  readonly label: string;
  /** Of the gateway's CPU beside nginx's. */
  readonly atMost: number;
}

const bodies: readonly Body[] = [
  { name: '0.6k', label: '0.6 KB', bodyBytes: 600, stream: false, atMost: 2.4 },
  { name: '8k', label: '8 KB', bodyBytes: 8 * 1024, stream: false, atMost: 2 },
  { name: '64k', label: '64 KB', bodyBytes: 64 * 1024, stream: false, atMost: 1.7 },
  { name: 'agent-8k', label: 'an agent, 8 KB', bodyBytes: 8 * 1024, shape: 'agent', stream: false, atMost: 2.5 },
  { name: 'agent-64k', label: 'an agent, 64 KB', bodyBytes: 64 * 1024, shape: 'agent', stream: false, atMost: 4 },
  { name: 'stream', label: '0.6 KB, streamed in 37 events', bodyBytes: 600, stream: true, atMost: 2.4 },
];

const besideNginx = ({ name, label, atMost }: Body): BarRule => ({
  id: `messages-nginx-${name}`,
  title: `POST /v1/messages to a mock, ${label}, CPU beside nginx proxying the same bytes`,
  unit: '×',
  atMost,
});

/** Portkey does some hundreds of requests a second and LiteLLM fewer: more connections would only queue in them. */
const peerConnections = 16;

const message = (model: string, more: Partial<MessageOptions> = {}) =>
  messageRequest({ model, bodyBytes: 600, maxTokens: 64, stream: false, ...more });
const forward = ({ bodyBytes, stream, shape = 'text' }: Body) => message(forwarded, { bodyBytes, stream, shape });

export const messages: Scenario = {
  id: 'messages',
  title: 'POST /v1/messages',
  about: [
    'Closed loop with bodies of 0.6, 8 and 64 KB: one message of text, or the twenty messages, tools and tool results of an agent. "Own part" is a model that Weir simulates in its process, without an upstream; the others forward to a mock that answers at once with 32 tokens.',
    "The mock shares the generator's core, so the rates of what is forwarded are the generator's and the mock's, and only CPU per request is compared.",
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [warmCrowd] });
    const target = { ...weir, keys };
    const { former } = stage.settings;
    const before = former === null ? null : await weirUnderLoad(stage, { sim, crowds: [warmCrowd], main: former });
    const contenders: Contender[] = [
      await bareContender(stage),
      contender('own-0.6k', 'Weir, own part, 0.6 KB', target, closedPlan(stage, message(inProcess))),
    ];
    const add = (name: string, label: string, at: Contender['target'], plan: Contender['plan']) =>
      contenders.push(contender(name, label, at, plan, 'hello', 'proxied'));
    for (const body of bodies) {
      const plan = closedPlan(stage, forward(body));
      add(`direct-${body.name}`, `the mock itself, ${body.label}`, sim, plan);
      add(`messages-${body.name}`, `Weir to the mock, ${body.label}`, target, plan);
      if (before) {
        const at = { ...before.weir, keys: before.keys };
        add(formerOf(`messages-${body.name}`), `Weir to the mock, ${body.label}, before`, at, plan);
      }
    }
    const notes: string[] = [];
    if (stage.settings.withPeers) {
      const proxies = await startProxies(stage, { body: Buffer.alloc(0), upstreamPort: sim.address.port });
      notes.push(...proxies.notes);
      for (const proxy of proxies.targets)
        for (const body of bodies)
          add(
            `${proxy.name}-${body.name}`,
            `${whoOf(proxy.name)} to the mock, ${body.label}`,
            { ...proxy, keys },
            closedPlan(stage, forward(body)),
          );
      const { target: peer, note } = await startPortkey(stage);
      notes.push(note);
      const request = message(forwarded, { fields: portkeyFields(sim.address.port) });
      for (const other of otherTargets(stage))
        add(
          `${other.name}-0.6k`,
          `${other.name}, 0.6 KB`,
          other,
          closedPlan(stage, message(stage.settings.otherModel)),
        );
      if (peer)
        add(
          'portkey-0.6k',
          'Portkey to the mock, 0.6 KB',
          peer,
          closedPlan(stage, request, { connections: peerConnections }),
        );
      const python = await startLiteLlm(stage, forwarded, sim.address.port);
      notes.push(python.note);
      if (python.target) {
        const plan = closedPlan(stage, message(forwarded), { connections: peerConnections });
        add('litellm-0.6k', 'LiteLLM to the mock, 0.6 KB', python.target, plan);
      }
    }
    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      notes,
      barsOf: (results: ReadonlyMap<string, ContenderResult>) => {
        const ours = results.get('messages-0.6k');
        const missing = (name: string) => (results.has(name) ? null : `${name.split('-')[0]} was not measured`);
        return [
          barOf(own, results.get('own-0.6k')?.cpuRatio ?? null),
          ...bodies.map((body) => {
            const [weir, nginx] = [`messages-${body.name}`, `nginx-${body.name}`];
            return barOf(besideNginx(body), cpuRatio(results.get(weir), results.get(nginx)), missing(nginx));
          }),
          barOf(portkey, cpuRatio(results.get('portkey-0.6k'), ours), missing('portkey-0.6k')),
          barOf(litellm, cpuRatio(results.get('litellm-0.6k'), ours), missing('litellm-0.6k')),
        ];
      },
    };
  },
};
