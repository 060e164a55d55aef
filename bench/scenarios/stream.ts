import { measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { plainBehaviour } from '../sim/behaviour.ts';
import { closedPlan, contender } from './plans.ts';
import { messageRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { forwarded, smallCrowd, weirUnderLoad } from './weir-under-load.ts';

const streams = 512;
const mebibyte = 2 ** 20;

const held: BarRule = { id: 'streams-held', title: 'SSE streams held at once', unit: '', atLeast: streams };
const memory: BarRule = {
  id: 'streams-rss',
  title: `resident memory with ${streams} streams`,
  unit: 'MB',
  atMost: 150,
};
const growth: BarRule = {
  id: 'streams-flat',
  title: 'resident memory after the last round beside the first',
  unit: '×',
  atMost: 1.1,
};

const behaviour = { ...plainBehaviour, ttftMs: 200, ttftSigma: 0.2, itlMs: 20, itlSigma: 0.2, tokens: 40 };
const request = messageRequest({ model: forwarded, bodyBytes: 600, maxTokens: 64, stream: true });

export const stream: Scenario = {
  id: 'stream',
  title: `${streams} streams at once`,
  about: [
    `${streams} connections, each with a stream under way: median 200 ms to the first token, 20 ms from one to the next, 40 tokens, both lognormal.`,
    'The same to the mock itself; the mock and the generator share a core, which bounds how punctual both can be.',
  ],
  async run(stage) {
    const sim = await stage.sim(behaviour);
    const { weir, keys } = await weirUnderLoad(stage, { sim, crowds: [smallCrowd] });
    const seconds = Math.max(3, stage.settings.seconds);
    const plan = closedPlan(stage, request, { connections: streams, timeoutMs: 30_000 });
    const contenders = [
      contender('direct', 'the mock itself', sim, plan, null, 'times'),
      contender('streams', 'Weir', { ...weir, keys }, plan, 'direct', 'times'),
    ];
    const found = await measureRounds(stage, contenders, { ...stage.settings, seconds });
    return {
      ...found,
      rounds: stage.settings.rounds,
      barsOf: (results) => {
        const own = results.get('streams');
        const rss = own?.windows.map(({ rss: bytes }) => bytes ?? Number.NaN) ?? [];
        const broken = own ? (own.statuses['0'] ?? 0) : 0;
        const isWhole = own !== undefined && broken === 0;
        return [
          barOf(held, isWhole ? streams : null, isWhole ? null : `${broken} streams broke`),
          barOf(memory, own?.rss == null ? null : own.rss / mebibyte),
          barOf(growth, rss.length < 2 ? null : rss.at(-1)! / rss[0]!),
        ];
      },
    };
  },
};
