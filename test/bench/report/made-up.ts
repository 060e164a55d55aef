import { encodeHistogram, newHistogram, recordMs } from '../../../bench/gen/hdr.ts';
import type { HttpSample } from '../../../bench/gen/main.ts';
import type { Contender, Measured } from '../../../bench/measure.ts';
import { barOf } from '../../../bench/report/bar.ts';
import { contenderResults } from '../../../bench/report/contender.ts';
import type { Result, ScenarioResult } from '../../../bench/report/result.ts';

/** Results that nobody has measured, for what is made of results. */

const histogramOf = (ms: readonly number[]): string => {
  const histogram = newHistogram();
  for (const value of ms) recordMs(histogram, value);
  return encodeHistogram(histogram);
};

export const sample = (done: number, serverMicros: number | null, change: Partial<HttpSample> = {}): HttpSample => ({
  done,
  seconds: 2,
  bytes: done * 100,
  serverMicros,
  serverSystemMicros: serverMicros === null ? null : serverMicros / 2,
  serverSleeps: serverMicros === null ? null : done / 50,
  loadMicros: 1e6,
  statuses: { 200: done },
  histograms: { service: histogramOf([1, 2, 3, 4]) },
  timeline: [{ planned: 0, sent: done, done, statuses: { 200: done }, inFlight: 4, p50: 1, p99: 2 }],
  busy: 0.5,
  rss: 2 ** 26,
  ...change,
});

export const contender = (name: string, unit: string | null, label = name): Contender => ({
  name,
  label,
  purpose: 'work',
  unit,
  target: {
    name,
    address: { host: '127.0.0.1', port: 1 },
    pid: 1,
    keys: { keys: ['gwp_secret'], zipf: 0 },
    lost: () => undefined,
  },
  plan: { requests: [], connections: 64, arrivals: { is: 'closed' }, expected: 200, timeoutMs: 1000, seed: 7 },
});

export const measured = (one: Contender, samples: readonly HttpSample[]): Measured => ({
  contender: one,
  samples,
  inside: samples.map(() => null),
});

/** Weir at twice the CPU of the bare server, or times `slowdown` of that. */
export const scenario = (slowdown = 1, change: Partial<ScenarioResult> = {}): ScenarioResult => ({
  id: 'models',
  title: 'GET /v1/models',
  about: ['In a closed loop.'],
  seconds: 20,
  surroundings: { load: { before: 0.4, after: 1.6 }, steal: 0.001 },
  contenders: contenderResults([
    measured(
      contender('hello', null),
      [200, 202, 198, 201, 199].map((k) => sample(k * 1000, 1.6e6)),
    ),
    measured(
      contender('models', 'hello', 'Weir, GET /v1/models'),
      [100, 101, 99, 100, 100].map((k) => sample(k * 1000, 1.6e6 * slowdown)),
    ),
  ]),
  bars: [
    barOf({ id: 'models-cpu', title: 'CPU beside bare', unit: '×', atMost: 2.5 }, { median: 2, low: 1.9, high: 2.1 }),
  ],
  curves: [],
  truth: [],
  notes: [],
  verdict: { is: 'VALID', invalid: [], rates: [], unratedNames: [] },
  ...change,
});

export const result = (...scenarios: readonly ScenarioResult[]): Result => ({
  schema: 2,
  command: 'bench run models',
  at: '2026-11-20T12:00:00.000Z',
  seconds: 20,
  interrupted: false,
  environment: {
    commit: '0123456789abcdef',
    modified: false,
    node: '20.20.2',
    platform: 'linux x64',
    kernel: '6.1',
    cpu: 'Some CPU',
    cores: 2,
    governor: null,
  },
  pinning: { server: 0, generator: 1 },
  settings: { rounds: 5, seconds: 2 },
  scenarios,
});
