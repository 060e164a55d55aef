import { join } from 'node:path';
import type { StoreOrder } from '../gen/store-load.ts';
import { isInMemory } from '../machine/environment.ts';
import type { ReadsOrder } from '../peers/compressing-store.ts';
import type { PutOrder } from '../peers/lmdb-puts.ts';
import { type Bar, type BarRule, barOf } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import { median } from '../report/statistics.ts';
import type { Stage } from '../stage.ts';
import {
  described,
  elsewhere,
  eventBytes,
  type MeasuredWay,
  measureWays,
  type Store,
  startEventLoad,
  startFraming,
  type Way,
} from './events.ts';
import type { Findings, Scenario } from './scenario.ts';

interface Case {
  readonly name: string;
  readonly title: string;
  readonly work: StoreOrder['work'];
  /** The bars: as a share of the empty framing, and in events per second. */
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
const live: Way['described'] = described('live', "Weir's store, append to live subscriber", 'append-1-framing', 1);

/** Reads from a store that compresses for whoever asks, by the published client and by Weir's. */
const zipped: Way['described'] = described('read-zipped', 'a store that compresses, the published client', null, 1);
const plain: Way['described'] = described('read-plain', "a store that compresses, Weir's client", 'read-zipped', 1);
const plainRule: BarRule = {
  id: 'store-read-plain',
  title: "$all, read by Weir's client from a store that compresses when asked to, beside the published client",
  unit: '×',
  atLeast: 4,
};

const logged = 50_000;

/** What one append at a time may take beyond a bare LMDB put: in milliseconds, and in answers of the empty framing. */
const latencies = [
  { way: 'append-1', id: 'store-sequential', title: 'one append at a time', ms: 0.3, answers: 3 },
  { way: 'live', id: 'store-live', title: 'append to live subscriber', ms: 0.4, answers: 4 },
] as const;

const waysOf = async (stage: Stage): Promise<readonly Way[]> => {
  const start = (name: string, file: string) =>
    stage.child(name, new URL(`../peers/${file}`, import.meta.url), stage.pinning.server);
  const startStore = async (name: string, folder: string): Promise<Store> => {
    const { ask, pid } = await start(name, 'embedded-store.ts');
    return { pid, ...(await ask<{ endpoint: string }>({ dir: join(stage.dir, folder) })) };
  };
  const store = await startStore('The embedded store', 'store');
  const log = await startStore('The store that is read', 'log');
  const framing = await startFraming(stage, logged);
  const compressing = await start('The store that compresses', 'compressing-store.ts');
  const reads: ReadsOrder = { socket: join(stage.dir, 'zip.sock'), events: logged, eventBytes };
  const compressed: Store = { pid: compressing.pid, ...(await compressing.ask<{ endpoint: string }>(reads)) };
  const lmdb = await start('LMDB', 'lmdb-puts.ts');
  const load = await startEventLoad(stage);
  stage.tell('filling the log that is read', 0);
  for (let filled = 0; filled < logged; ) filled += (await load.ask(log, append(100, 10), 0.5)).done;

  const putsOf = (inFlight: number, seconds: number) => {
    const file = join(stage.dir, 'puts.mdb');
    const order: PutOrder = { file, inFlight, valueBytes: eventBytes, rampMs: 300, seconds };
    return lmdb.ask<Awaited<ReturnType<Way['measure']>>>(order, 60_000 + seconds * 1000);
  };
  const ways = cases.flatMap(({ name, title, work, puts }): Way[] => {
    const own = work.is === 'append' ? store : log;
    const inFlight = work.is === 'append' ? work.inFlight : 1;
    const unit = `${name}-framing`;
    return [
      {
        described: described(unit, `empty framing, ${title}`, null, inFlight),
        measure: (seconds) => load.ask(framing, work, seconds),
      },
      {
        described: described(name, `Weir's store, ${title}`, unit, inFlight),
        measure: (seconds) => load.ask(own, work, seconds),
      },
      ...(puts === undefined
        ? []
        : [
            {
              described: described(`${name}-puts`, `bare LMDB, ${puts} puts in flight`, unit, puts),
              measure: (seconds: number) => putsOf(puts, seconds),
            },
          ]),
    ];
  });
  return [
    ...ways,
    { described: live, measure: (seconds) => load.ask(store, { is: 'live' }, seconds) },
    { described: zipped, measure: (seconds) => load.ask(compressed, { is: 'read' }, seconds) },
    { described: plain, measure: (seconds) => load.ask(compressed, { is: 'read-plain' }, seconds) },
  ];
};

const latencyBars = (
  results: ReadonlyMap<string, ContenderResult>,
  measured: readonly MeasuredWay[],
): readonly Bar[] => {
  const [puts, framing] = [results.get('append-1-puts'), results.get('append-1-framing')];
  return latencies.flatMap(({ way, id, title, ms, answers }) => {
    const p50s = measured.find(({ contender }) => contender.name === way)?.p50s ?? [];
    const added = p50s.length === 0 || !puts ? null : median(p50s) - 1000 / puts.perSecond;
    const beyond = { id, title: `store, ${title}: p50 beyond that of a bare LMDB put`, unit: 'ms', atMost: ms };
    // Where the milliseconds were set, one answer of the empty framing took 0.1 ms.
    const ratioTitle = `store, ${title}: the same, beside one answer of the empty framing`;
    const ratio = { id: `${id}-ratio`, title: ratioTitle, unit: '×', atMost: answers };
    const inAnswers = added === null || !framing ? null : (added * framing.perSecond) / 1000;
    return [barOf(beyond, added, elsewhere), barOf(ratio, inAnswers)];
  });
};

const rateBars = (results: ReadonlyMap<string, ContenderResult>): readonly Bar[] =>
  cases.flatMap(({ name, title, ratio, perSecond }) => {
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

/** Why figures of a disk say nothing. */
export const notOnDisk = (stage: Stage): readonly string[] =>
  isInMemory(stage.dir) ? ['the data is on a file system in memory, where fsync costs nothing (set TMPDIR)'] : [];

/** The embedded store, reached by the published client, beside what bounds it. */
export const store: Scenario = {
  id: 'store',
  title: 'The embedded event store beside what bounds it',
  about: [
    `Events of ${eventBytes} bytes through the published client, unmodified, in one process: its cost bounds every rate. Appends are answered after their fsync, each lane to a stream of its own with its expected revision.`,
    'The empty framing is the same HTTP/2, gRPC and codec without storage; bare LMDB is puts with fsync before each is answered, without any of those. "req" means event here.',
  ],
  async run(stage): Promise<Findings> {
    const measured = await measureWays(stage, await waysOf(stage));
    return {
      measured,
      rounds: stage.settings.rounds,
      invalid: notOnDisk(stage),
      barsOf: (results) => [
        ...latencyBars(results, measured),
        ...rateBars(results),
        barOf(plainRule, results.get('read-plain')?.rateRatio ?? null),
      ],
    };
  },
};
