import { join } from 'node:path';
import type { HttpSample } from '../gen/main.ts';
import type { Sample } from '../gen/sample.ts';
import type { StoreOrder, StoreSample } from '../gen/store-load.ts';
import { isInMemory } from '../machine/environment.ts';
import type { Described, Measured } from '../measure.ts';
import type { PutOrder } from '../peers/lmdb-puts.ts';
import { type Bar, type BarRule, barOf } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import { median } from '../report/statistics.ts';
import type { Stage } from '../stage.ts';
import type { Findings, Scenario } from './scenario.ts';

interface Case {
  readonly name: string;
  readonly title: string;
  readonly work: StoreOrder['work'];
  /** What eventstore.md 3 asks for as a share of the empty framing, and in events per second. */
  readonly ratio?: number;
  readonly perSecond?: number;
  /** Puts in flight, where bare LMDB does something comparable. */
  readonly puts?: number;
}

const append = (inFlight: number, perAppend = 1) => ({ is: 'append', inFlight, perAppend }) as const;

const cases: readonly Case[] = [
  { name: 'append-1', title: 'append, 1 in flight', work: append(1), puts: 1 },
  { name: 'append-100', title: 'append, 100 in flight', work: append(100), ratio: 0.55, perSecond: 15_000, puts: 100 },
  { name: 'append-1000', title: 'append, 1,000 in flight', work: append(1000), perSecond: 18_000, puts: 1000 },
  { name: 'append-100x10', title: 'append, 100 × 10 events', work: append(100, 10), perSecond: 40_000, puts: 1000 },
  { name: 'read-all', title: '$all, read', work: { is: 'read' }, ratio: 0.7, perSecond: 75_000 },
  { name: 'catch-up', title: '$all, caught up', work: { is: 'catch-up' }, ratio: 0.7, perSecond: 75_000 },
];

const eventBytes = 268;
const logged = 50_000;
const sequential: BarRule = {
  id: 'store-sequential',
  title: 'store, one append at a time: p50 beyond that of a bare LMDB put',
  unit: 'ms',
  atMost: 0.3,
};
/** Where those 0.3 ms were set, one answer of the empty framing took 0.1 ms (eventstore.md 3). */
const sequentialRatio: BarRule = {
  id: 'store-sequential-ratio',
  title: 'store, one append at a time: the same, beside one answer of the empty framing',
  unit: '×',
  atMost: 3,
};
const elsewhere = 'of the machine it was set on; the ratio is for slower ones';

/** What HTTP has and a store has not is empty. */
const asSample = (sample: Sample): HttpSample => ({
  ...sample,
  statuses: { 200: sample.done },
  histograms: {},
  timeline: [],
  busy: Math.min(1, sample.loadMicros / (sample.seconds * 1e6)),
  rss: null,
});

const described = (name: string, label: string, unit: string | null, connections: number): Described => ({
  name,
  label,
  purpose: 'events',
  unit,
  plan: { arrivals: { is: 'closed' }, connections },
});

interface Way {
  readonly described: Described;
  readonly samples: HttpSample[];
  measure(seconds: number): Promise<Sample>;
}

const waysOf = async (stage: Stage): Promise<{ ways: readonly Way[]; p50s: number[] }> => {
  const { server, generator } = stage.pinning;
  const start = (name: string, entry: URL, core = server) => stage.child(name, entry, core);
  const store = await start('The embedded store', new URL('../peers/embedded-store.ts', import.meta.url));
  const toRead = await start('The store that is read', new URL('../peers/embedded-store.ts', import.meta.url));
  const framing = await start('The empty framing', new URL('../peers/empty-framing.ts', import.meta.url));
  const lmdb = await start('LMDB', new URL('../peers/lmdb-puts.ts', import.meta.url));
  const load = await start('The client', new URL('../gen/store-load.ts', import.meta.url), generator);
  const at = (child: typeof store, order: object) => child.ask<{ endpoint: string }>(order);
  const atStore = await at(store, { dir: join(stage.dir, 'store') });
  const atLog = await at(toRead, { dir: join(stage.dir, 'log') });
  const atFraming = await at(framing, { socket: join(stage.dir, 'empty.sock'), events: logged, eventBytes });
  const ask = (where: { endpoint: string }, pid: number, work: StoreOrder['work'], seconds: number) =>
    load.ask<StoreSample>(
      { ...where, work, eventBytes, pid, rampMs: 300, seconds } satisfies StoreOrder,
      30_000 + seconds * 1000,
    );
  stage.tell('filling the log that is read', 0);
  for (let filled = 0; filled < logged; ) filled += (await ask(atLog, toRead.pid, append(100, 10), 0.5)).done;

  const p50s: number[] = [];
  const ways = cases.flatMap(({ name, title, work, puts }): Way[] => {
    const [where, pid] = work.is === 'append' ? [atStore, store.pid] : [atLog, toRead.pid];
    const inFlight = work.is === 'append' ? work.inFlight : 1;
    const own = async (seconds: number): Promise<Sample> => {
      const sample = await ask(where, pid, work, seconds);
      if (name === 'append-1' && sample.p50 !== null) p50s.push(sample.p50);
      return sample;
    };
    const put = (seconds: number): Promise<Sample> =>
      lmdb.ask<Sample>(
        {
          file: join(stage.dir, 'puts.mdb'),
          inFlight: puts ?? 1,
          valueBytes: eventBytes,
          rampMs: 300,
          seconds,
        } satisfies PutOrder,
        60_000 + seconds * 1000,
      );
    return [
      {
        described: described(`${name}-framing`, `empty framing, ${title}`, null, inFlight),
        samples: [],
        measure: (seconds) => ask(atFraming, framing.pid, work, seconds),
      },
      { described: described(name, `Weir's store, ${title}`, `${name}-framing`, inFlight), samples: [], measure: own },
      ...(puts === undefined
        ? []
        : [
            {
              described: described(`${name}-puts`, `bare LMDB, ${puts} puts in flight`, `${name}-framing`, puts),
              samples: [],
              measure: put,
            },
          ]),
    ];
  });
  return { ways, p50s };
};

const barsOf = (results: ReadonlyMap<string, ContenderResult>, p50s: readonly number[]): readonly Bar[] => {
  const bars = cases.flatMap(({ name, title, ratio, perSecond }) => {
    const own = results.get(name);
    const rule = (id: string, unit: string, atLeast: number): BarRule => ({
      id: `store-${name}-${id}`,
      title: `store, ${title}${unit === '×' ? ', beside the empty framing' : ', events per second'}`,
      unit,
      atLeast,
    });
    return [
      ...(ratio === undefined ? [] : [barOf(rule('ratio', '×', ratio), own?.rateRatio ?? null)]),
      ...(perSecond === undefined ? [] : [barOf(rule('rate', '', perSecond), own?.perSecond ?? null, elsewhere)]),
    ];
  });
  const puts = results.get('append-1-puts');
  const framing = results.get('append-1-framing');
  const added = p50s.length === 0 || !puts ? null : median(p50s) - 1000 / puts.perSecond;
  const ratio = added === null || !framing ? null : (added * framing.perSecond) / 1000;
  return [barOf(sequential, added, elsewhere), barOf(sequentialRatio, ratio), ...bars];
};

/** The embedded store, reached by the published client, beside what bounds it. */
export const store: Scenario = {
  id: 'store',
  title: 'The embedded event store beside what bounds it',
  about: [
    `Events of ${eventBytes} bytes through the published client, unmodified, in one process: its cost bounds every rate. Appends are answered after their fsync, each lane to a stream of its own with its expected revision.`,
    'The empty framing is the same HTTP/2, gRPC and codec without storage; bare LMDB is puts with fsync before each is answered, without any of those. "req" means event here.',
  ],
  async run(stage): Promise<Findings> {
    const { ways, p50s } = await waysOf(stage);
    const { rounds, seconds, warmUpSeconds } = stage.settings;
    let complete = 0;
    for (let round = 0; round <= rounds && !stage.interrupted.aborted; round++) {
      if (round === 1) p50s.length = 0;
      for (const [i, { described: each, samples, measure }] of ways.entries()) {
        if (stage.interrupted.aborted) break;
        stage.tell(
          `${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${each.label}`,
          (round + i / ways.length) / (rounds + 1),
        );
        const sample = await measure(round === 0 ? Math.max(0.5, warmUpSeconds / 3) : seconds);
        if (round > 0) samples.push(asSample(sample));
      }
      if (!stage.interrupted.aborted) complete = round;
    }
    const measured: Measured[] = ways.map(({ described: each, samples }) => ({
      contender: each,
      samples: samples.slice(0, complete),
      inside: samples.slice(0, complete).map(() => null),
    }));
    return {
      measured: complete === 0 ? [] : measured,
      rounds,
      invalid: isInMemory(stage.dir)
        ? ['the data is on a file system in memory, where fsync costs nothing (set TMPDIR)']
        : [],
      barsOf: (results) => barsOf(results, p50s),
    };
  },
};
