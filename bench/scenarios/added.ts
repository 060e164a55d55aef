import { type Contender, measureRounds } from '../measure.ts';
import { startProxies } from '../peers/proxies.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import { estimate } from '../report/statistics.ts';
import { whoOf } from '../report/who.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { closedPlan, contender, otherTargets } from './plans.ts';
import { messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, smallCrowd, weirUnderLoad } from './weir-under-load.ts';

const latency: BarRule = {
  id: 'added-p99',
  title: 'POST /v1/messages at concurrency 1, added p99',
  unit: 'µs',
  atMost: 350,
};
const first: BarRule = {
  id: 'added-ttft',
  title: 'streamed message at concurrency 1, added p99 of the time to first token',
  unit: 'µs',
  atMost: 500,
};
const besideNginx: BarRule = {
  id: 'added-nginx',
  title: 'POST /v1/messages at concurrency 1, added p99 beside what nginx adds',
  unit: '×',
  atMost: 1.8,
};

const microsPerMilli = 1000;

const request = (stream: boolean) => messageRequest({ model: forwarded, bodyBytes: 600, maxTokens: 64, stream });

/** What stands between the client and the mock adds, by the rounds' own 99th percentiles, microseconds. */
const added = (ours: ContenderResult | undefined, direct: ContenderResult | undefined) =>
  ours && direct ? estimate(ours.p99Rounds.map((ms, i) => (ms - direct.p99Rounds[i]!) * microsPerMilli)) : null;

/** Of the rounds' own differences. */
const besideAdded = (
  ours: ContenderResult | undefined,
  theirs: ContenderResult | undefined,
  direct: ContenderResult | undefined,
) => {
  if (!ours || !theirs || !direct) return null;
  const beyond = (each: ContenderResult, i: number) => each.p99Rounds[i]! - direct.p99Rounds[i]!;
  return estimate(ours.p99Rounds.map((_, i) => beyond(ours, i) / beyond(theirs, i)));
};

const addedFirst = (ours: ContenderResult | undefined, direct: ContenderResult | undefined): number | null => {
  const [one, other] = [ours?.latency.ttft, direct?.latency.ttft];
  return one && other ? (one.p99 - other.p99) * microsPerMilli : null;
};

export const addedLatency: Scenario = {
  id: 'added',
  title: 'What the gateway adds to one request at a time',
  about: [
    'One connection, one request at a time, to the mock itself and through each gateway, interleaved: the difference of the 99th percentiles. The mock answers at once.',
    'Everything is on one machine: this is the time in the gateway and the two kernels crossings it costs, and no network.',
  ],
  async run(stage) {
    const sim = await stage.sim(plainBehaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [smallCrowd] });
    const plan = (stream: boolean) => closedPlan(stage, request(stream), { connections: 1 });
    const contenders: Contender[] = [
      contender('direct', 'the mock itself', sim, plan(false), null, 'times'),
      contender('through', 'Weir', { ...weir, keys }, plan(false), 'direct', 'times'),
      contender('direct-stream', 'the mock itself, streamed', sim, plan(true), null, 'times'),
      contender('through-stream', 'Weir, streamed', { ...weir, keys }, plan(true), 'direct-stream', 'times'),
    ];
    const notes: string[] = [];
    if (stage.settings.withPeers) {
      const proxies = await startProxies(stage, { body: Buffer.alloc(0), upstreamPort: sim.address.port });
      notes.push(...proxies.notes);
      for (const proxy of proxies.targets)
        contenders.push(
          contender(`through-${proxy.name}`, whoOf(proxy.name), { ...proxy, keys }, plan(false), 'direct', 'times'),
        );
      for (const other of otherTargets(stage)) {
        const sent = messageRequest({ model: stage.settings.otherModel, bodyBytes: 600, maxTokens: 64, stream: false });
        const at = closedPlan(stage, sent, { connections: 1 });
        contenders.push(contender(`through-${other.name}`, other.name, other, at, 'direct', 'times'));
      }
    }
    return {
      ...(await measureRounds(stage, contenders, stage.settings)),
      rounds: stage.settings.rounds,
      notes,
      barsOf: (results) => [
        barOf(latency, added(results.get('through'), results.get('direct'))),
        barOf(first, addedFirst(results.get('through-stream'), results.get('direct-stream'))),
        barOf(
          besideNginx,
          besideAdded(results.get('through'), results.get('through-nginx'), results.get('direct')),
          results.has('through-nginx') ? null : 'nginx was not measured',
        ),
      ],
    };
  },
};
