/**
 * `npm run bench -- store`: the embedded store beside what bounds it, in one interleaved run. The empty framing is the
 * same HTTP/2, gRPC and codec without storage; bare LMDB is puts with fsync before each answer, without any of those.
 * Both share this machine's noise with the store, so the ratios mean more than the rates.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Table from 'cli-table3';
import { ensureBuilt } from './build.ts';
import type { Sample } from './gen/sample.ts';
import type { StoreOrder, StoreSample } from './gen/store-load.ts';
import { type Child, startChild } from './machine/child.ts';
import { choosePinning } from './machine/pin.ts';
import { loadNow } from './machine/proc-stat.ts';
import type { PutOrder } from './peers/lmdb-puts.ts';
import { estimate, median, pairedRatios } from './report/statistics.ts';

interface Case {
  readonly title: string;
  readonly work: StoreOrder['work'];
  /** What eventstore.md 3 asks for as a share of the empty framing. */
  readonly bar?: number;
  /** Puts in flight, where bare LMDB does something comparable. */
  readonly puts?: number;
}

const cases: readonly Case[] = [
  { title: 'append, 1 in flight', work: { is: 'append', inFlight: 1, perAppend: 1 }, puts: 1 },
  { title: 'append, 100 in flight', work: { is: 'append', inFlight: 100, perAppend: 1 }, bar: 0.55, puts: 100 },
  { title: 'append, 1,000 in flight', work: { is: 'append', inFlight: 1000, perAppend: 1 }, puts: 1000 },
  { title: 'append, 100 × 10 events', work: { is: 'append', inFlight: 100, perAppend: 10 }, puts: 1000 },
  { title: '$all, read', work: { is: 'read' }, bar: 0.7 },
  { title: '$all, caught up', work: { is: 'catch-up' }, bar: 0.7 },
];

const EVENT_BYTES = 268;
const LOGGED = 50_000;
const FILL = { is: 'append', inFlight: 100, perAppend: 10 } as const;

interface Plan {
  readonly rounds: number;
  readonly seconds: number;
}

const planOf = (args: readonly string[]): Plan => {
  const [rounds = 5, seconds = 2] = args.map(Number);
  if (!(rounds >= 1 && rounds <= 100 && seconds >= 0.2 && seconds <= 60)) {
    throw new RangeError('Usage: npm run bench -- store [rounds, 1 to 100] [seconds, 0.2 to 60]');
  }
  return { rounds, seconds };
};

const rate = ({ done, seconds }: Sample): number => done / seconds;
const whole = (values: readonly number[]): string => Math.round(median(values)).toLocaleString('en-US');
/** CPU time of the server per event, which other load on the machine disturbs least. */
const cpuOf = (samples: readonly Sample[]): string =>
  median(samples.map(({ serverMicros, done }) => (serverMicros ?? Number.NaN) / done)).toFixed(1);
const ratioOf = (values: readonly number[], units: readonly number[]): string => {
  const { median: middle, low, high } = estimate(pairedRatios(values, units));
  return `${middle.toFixed(2)} [${low.toFixed(2)}–${high.toFixed(2)}]`;
};

/** Runs it and returns the report. @param undo takes what ends the processes */
export const benchStore = async (
  args: readonly string[],
  say: (text: string) => void,
  undo: (() => Promise<void>)[],
): Promise<string> => {
  const { rounds, seconds } = planOf(args);
  if (ensureBuilt()) say('built dist/');
  const dir = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  undo.push(async () => rmSync(dir, { recursive: true, force: true }));
  const { server, generator } = choosePinning();
  const start = async (name: string, entry: URL, core: number | null): Promise<Child> => {
    const child = await startChild(name, entry, core);
    undo.push(child.end);
    return child;
  };
  const store = await start('The embedded store', new URL('./peers/embedded-store.ts', import.meta.url), server);
  const framing = await start('The empty framing', new URL('./peers/empty-framing.ts', import.meta.url), server);
  const lmdb = await start('LMDB', new URL('./peers/lmdb-puts.ts', import.meta.url), server);
  const load = await start('The client', new URL('./gen/store-load.ts', import.meta.url), generator);
  const sizes = { events: LOGGED, eventBytes: EVENT_BYTES };
  const atStore = await store.ask<{ endpoint: string }>({ dir: join(dir, 'store') });
  const toRead = await start('The store that is read', new URL('./peers/embedded-store.ts', import.meta.url), server);
  const atLog = await toRead.ask<{ endpoint: string }>({ dir: join(dir, 'log') });
  const atFraming = await framing.ask<{ endpoint: string }>({ socket: join(dir, 'empty.sock'), ...sizes });

  const ask = (at: { endpoint: string }, pid: number, work: StoreOrder['work'], length: number) => {
    const order: StoreOrder = { ...at, work, eventBytes: EVENT_BYTES, pid, rampMs: 300, seconds: length };
    return load.ask<StoreSample>(order, 30_000 + length * 1000);
  };
  say('filling the log that is read');
  for (let filled = 0; filled < LOGGED; ) filled += (await ask(atLog, toRead.pid, FILL, 0.5)).done;

  const before = loadNow();
  const measured = cases.map(() => ({ store: [] as StoreSample[], framing: [] as Sample[], puts: [] as Sample[] }));
  for (let round = 0; round <= rounds; round++) {
    say(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`);
    for (const [i, { work, puts }] of cases.entries()) {
      const length = round === 0 ? 1 : seconds;
      const [at, pid] = work.is === 'append' ? [atStore, store.pid] : [atLog, toRead.pid];
      const one = await ask(at, pid, work, length);
      const two = await ask(atFraming, framing.pid, work, length);
      const file = join(dir, 'puts.mdb');
      const order = { file, inFlight: puts ?? 0, valueBytes: EVENT_BYTES, rampMs: 300, seconds: length };
      const three = puts === undefined ? undefined : await lmdb.ask<Sample>(order satisfies PutOrder, 60_000);
      if (round === 0) continue;
      measured[i]!.store.push(one);
      measured[i]!.framing.push(two);
      if (three !== undefined) measured[i]!.puts.push(three);
    }
  }
  return `\n${tableOf(measured)}\n${rounds} interleaved rounds of ${seconds} s, ${EVENT_BYTES}-byte events, medians; ratios with a bootstrap 95 % interval
the published client, unmodified, in one process; its cost bounds every rate. CPU: of the server, per event
load average ${before.toFixed(1)} before, ${loadNow().toFixed(1)} after\n`;
};

type Measured = {
  readonly store: readonly StoreSample[];
  readonly framing: readonly Sample[];
  readonly puts: readonly Sample[];
};

const tableOf = (measured: readonly Measured[]): string => {
  const table = new Table({
    head: ['', 'events/s', 'empty framing', 'ratio', 'bar', 'LMDB puts/s', 'ratio', 'p50 ms', 'CPU µs', 'framing'],
    style: { head: [], border: [] },
  });
  for (const [i, { title, bar, puts }] of cases.entries()) {
    const { store, framing, puts: bare } = measured[i]!;
    const [own, empty, raw] = [store, framing, bare].map((samples) => samples.map(rate)) as [
      number[],
      number[],
      number[],
    ];
    const times = store.flatMap(({ p50 }) => (typeof p50 === 'number' ? [p50] : []));
    table.push([
      title,
      whole(own),
      whole(empty),
      ratioOf(own, empty),
      bar ?? '',
      puts === undefined ? '' : whole(raw),
      puts === undefined ? '' : ratioOf(own, raw),
      times.length === 0 ? '' : median(times).toFixed(2),
      cpuOf(store),
      cpuOf(framing),
    ]);
  }
  return table.toString();
};
