import { bundled } from '../build.ts';
import type { HttpSample } from '../gen/main.ts';
import type { Child } from '../machine/child.ts';
import type { Described, Measured } from '../measure.ts';
import type { MicroSample, Order } from '../micro/traffic.ts';
import type { WindowsOrder } from '../micro/windows.ts';
import { type Bar, type BarRule, barOf } from '../report/bar.ts';
import { median } from '../report/statistics.ts';
import type { Scenario } from './scenario.ts';

interface Contestant {
  readonly name: string;
  readonly label: string;
  readonly entry: URL;
  readonly order: Order | WindowsOrder;
  /** The bar. */
  readonly nanoseconds?: number;
  readonly bytes?: number;
}

const windows = new URL('../micro/windows.ts', import.meta.url);
const flexible = new URL('../micro/flexible.ts', import.meta.url);
const loop = { warmUp: 300_000, operations: 1_000_000 };
const free = { ...loop, tier: 0, withHeaders: false } as const;

/** The first is the unit of the ratios. */
const contestants: readonly Contestant[] = [
  {
    name: 'limiter-1e5',
    label: 'Weir, 1e5 Free keys',
    entry: windows,
    order: { ...free, keys: 100_000 },
    nanoseconds: 1_000,
    bytes: 1_024,
  },
  {
    name: 'limiter-headers',
    label: 'Weir, the same with the headers',
    entry: windows,
    order: { ...free, keys: 100_000, withHeaders: true },
  },
  {
    name: 'limiter-1e6',
    label: 'Weir, 1e6 Free keys',
    entry: windows,
    order: { ...free, keys: 1_000_000 },
    nanoseconds: 1_600,
  },
  {
    name: 'limiter-tier5',
    label: 'Weir, 1e5 keys of tier 5',
    entry: windows,
    order: { ...free, tier: 5, keys: 100_000 },
    bytes: 4_096,
  },
  {
    name: 'flexible',
    label: 'rate-limiter-flexible in memory, 1e5 keys',
    entry: flexible,
    order: { keys: 100_000, warmUp: 20_000, operations: 100_000 },
  },
];

const unit = 'limiter-1e5';
const faster: BarRule = {
  id: 'limiter-flexible',
  title: 'rate-limiter-flexible with the same ten counters, CPU beside the window store',
  unit: '×',
  atLeast: 15,
};
const withinMs = 300_000;

const described = ({ name, label }: Contestant): Described => ({
  name,
  label,
  purpose: 'events',
  unit: name === unit ? null : unit,
  plan: { arrivals: { is: 'closed' }, connections: 1 },
});

/** What HTTP has and a loop has not is empty. */
const asSample = ({ nanoseconds, admitted }: MicroSample, operations: number): HttpSample => {
  const micros = (nanoseconds * operations) / 1000;
  const passed = Math.round(admitted * operations);
  return {
    done: operations,
    seconds: micros / 1e6,
    bytes: 0,
    serverMicros: micros,
    serverSystemMicros: 0,
    serverSleeps: null,
    loadMicros: micros,
    statuses: { 200: passed, 429: operations - passed },
    histograms: {},
    timeline: [],
    busy: 1,
    rss: null,
  };
};

const barsOf = (seen: readonly { readonly of: Contestant; readonly samples: readonly MicroSample[] }[]): Bar[] =>
  seen.flatMap(({ of: { name, label, nanoseconds, bytes }, samples }) => {
    const rule = (what: string, of: string, atMost: number): BarRule => ({
      id: `${name}-${of}`,
      title: `${label}: ${what}`,
      unit: of,
      atMost,
    });
    const value = (of: (sample: MicroSample) => number | null): number | null =>
      samples.length === 0 ? null : median(samples.map((sample) => of(sample) ?? Number.NaN));
    return [
      ...(nanoseconds === undefined
        ? []
        : [
            barOf(
              rule('CPU of start, reserve and settle over three scopes', 'ns', nanoseconds),
              value((s) => s.nanoseconds),
            ),
          ]),
      ...(bytes === undefined
        ? []
        : [
            barOf(
              rule('memory of an active key, project and organization shares included', 'B', bytes),
              value((s) => s.recordBytes),
            ),
          ]),
    ];
  });

/** The window store in a tight loop beside the most used limiter of npm. */
export const limiter: Scenario = {
  id: 'limiter',
  title: 'The rate limits alone, in a tight loop',
  about: [
    "One operation: an attempt counted at key, project and organization, 1,000 tokens reserved and 600 settled; keys by Zipf's law, exponent 1. rate-limiter-flexible does the same ten counters, as fixed windows in memory. Each has a process of its own.",
    '"req" means operation here, and 429 one that was refused. Inside the server the caches are colder: there it is about three times that.',
  ],
  async run(stage) {
    const { rounds } = stage.settings;
    const children: Child[] = [];
    const files = new Map([windows, flexible].map((entry) => [entry, bundled(entry)]));
    for (const { label, entry } of contestants) {
      children.push(await stage.child(label, files.get(entry)!, stage.pinning.server));
    }
    const seen = contestants.map((of) => ({ of, samples: [] as MicroSample[] }));
    for (let round = 0; round <= rounds && !stage.interrupted.aborted; round++) {
      for (const [i, { of, samples }] of seen.entries()) {
        if (stage.interrupted.aborted) break;
        const part = (round + i / seen.length) / (rounds + 1);
        stage.tell(`${round === 0 ? 'filling' : `round ${round} of ${rounds}`}: ${of.label}`, part);
        const sample = await children[i]!.ask<MicroSample>(of.order, withinMs);
        if (round > 0) samples.push(sample);
      }
    }
    const complete = Math.min(...seen.map(({ samples }) => samples.length));
    for (const { samples } of seen) samples.length = complete;
    const measured: Measured[] = seen.map(({ of, samples }) => ({
      contender: described(of),
      samples: samples.map((sample) => asSample(sample, of.order.operations)),
      inside: samples.map(() => null),
    }));
    return {
      measured: complete === 0 ? [] : measured,
      rounds,
      notes: seen.map(
        ({ of: { label }, samples: [first] }) =>
          `${label}: the process has grown by ${Math.round(first?.processBytes ?? 0)} bytes a key, names and garbage included`,
      ),
      barsOf: (results) => [...barsOf(seen), barOf(faster, results.get('flexible')?.cpuRatio ?? null)],
    };
  },
};
