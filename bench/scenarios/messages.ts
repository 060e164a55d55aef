import { type Contender, measureRounds } from '../measure.ts';
import { portkeyFields, startPortkey } from '../peers/portkey.ts';
import { startProxies } from '../peers/proxies.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { cpuRatio } from './models.ts';
import { bareContender, closedPlan, contender, otherTargets } from './plans.ts';
import { type MessageOptions, messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, inProcess, weirUnderLoad } from './weir-under-load.ts';

const own: BarRule = {
  id: 'messages-own',
  title: "POST /v1/messages, the gateway's own part beside bare uWebSockets.js",
  unit: '×',
  atMost: 2.9,
};
const nginx: BarRule = {
  id: 'messages-nginx',
  title: 'POST /v1/messages to a mock, CPU beside nginx proxying the same bytes',
  unit: '×',
  atMost: 2.5,
};
const portkey: BarRule = {
  id: 'messages-portkey',
  title: 'POST /v1/messages to a mock, CPU of Portkey beside it',
  unit: '×',
  atLeast: 30,
};

const sizes = [
  { name: '0.6k', label: '0.6 KB', bytes: 600 },
  { name: '8k', label: '8 KB', bytes: 8 * 1024 },
  { name: '64k', label: '64 KB', bytes: 64 * 1024 },
] as const;

/** Portkey does some hundreds of requests a second: more connections would only queue in it. */
const portkeyConnections = 16;

const message = (model: string, bodyBytes: number, more: Partial<MessageOptions> = {}) =>
  messageRequest({ model, bodyBytes, maxTokens: 64, stream: false, ...more });

export const messages: Scenario = {
  id: 'messages',
  title: 'POST /v1/messages, not streamed',
  about: [
    'Closed loop with bodies of 0.6, 8 and 64 KB. "Own part" is a model that Weir simulates in its process, without an upstream; the others forward to a mock that answers at once with 32 tokens.',
    "The mock shares the generator's core, so the rates of what is forwarded are the generator's and the mock's, and only CPU per request is compared.",
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim });
    const target = { ...weir, keys };
    const contenders: Contender[] = [
      await bareContender(stage),
      contender('own-0.6k', 'Weir, own part, 0.6 KB', target, closedPlan(stage, message(inProcess, 600))),
    ];
    const add = (name: string, label: string, at: Contender['target'], plan: Contender['plan']) =>
      contenders.push(contender(name, label, at, plan, 'hello', 'proxied'));
    for (const { name, label, bytes } of sizes) {
      add(`direct-${name}`, `the mock itself, ${label}`, sim, closedPlan(stage, message(forwarded, bytes)));
      add(`messages-${name}`, `Weir to the mock, ${label}`, target, closedPlan(stage, message(forwarded, bytes)));
    }
    const notes: string[] = [];
    if (stage.settings.withPeers) {
      const proxies = await startProxies(stage, { body: Buffer.alloc(0), upstreamPort: sim.address.port });
      notes.push(...proxies.notes);
      for (const proxy of proxies.targets)
        for (const { name, label, bytes } of sizes)
          add(
            `${proxy.name}-${name}`,
            `${proxy.name} to the mock, ${label}`,
            { ...proxy, keys },
            closedPlan(stage, message(forwarded, bytes)),
          );
      const { target: peer, note } = await startPortkey(stage);
      notes.push(note);
      const request = message(forwarded, 600, { fields: portkeyFields(sim.address.port) });
      for (const other of otherTargets(stage))
        add(
          `${other.name}-0.6k`,
          `${other.name}, 0.6 KB`,
          other,
          closedPlan(stage, message(stage.settings.otherModel, 600)),
        );
      if (peer)
        add(
          'portkey-0.6k',
          'Portkey to the mock, 0.6 KB',
          peer,
          closedPlan(stage, request, { connections: portkeyConnections }),
        );
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
          barOf(nginx, cpuRatio(ours, results.get('nginx-0.6k')), missing('nginx-0.6k')),
          barOf(portkey, cpuRatio(results.get('portkey-0.6k'), ours), missing('portkey-0.6k')),
        ];
      },
    };
  },
};
