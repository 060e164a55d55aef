import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { builtMain } from '../build.ts';
import { anonymousOf } from '../machine/proc-stat.ts';
import { freePort, type ServerProcess, startServer } from '../machine/server-process.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import { type Estimate, estimate, pairedRatios } from '../report/statistics.ts';
import type { Stage } from '../stage.ts';
import { described, eventBytes, type MeasuredWay, measureWays, type Store, startEventLoad } from './events.ts';
import type { Scenario } from './scenario.ts';
import { notOnDisk } from './store.ts';

const few = 10_000;
const many = 1_000_000;
/** Events between two looks at whether somebody has interrupted. */
const portion = 10_000;
const megabyte = 1e6;

const opened: BarRule = { id: 'store-1e6-open', title: 'a million events: open after SIGTERM', unit: 's', atMost: 2 };
const killed: BarRule = { id: 'store-1e6-killed', title: 'a million events: open after SIGKILL', unit: 's', atMost: 2 };
const memory: BarRule = {
  id: 'store-1e6-memory',
  title: 'a million events: anonymous memory of `weir eventstore` that has written them',
  unit: 'MB',
  atMost: 250,
};
const disk: BarRule = { id: 'store-1e6-disk', title: 'a million events: disk per event', unit: 'B', atMost: 700 };
const slower: BarRule = {
  id: 'store-1e6-latency',
  title: 'one append at a time, p50 with 10⁶ events beside 10⁴',
  unit: '×',
  atMost: 1.2,
};
const larger: BarRule = {
  id: 'store-1e6-growth',
  title: 'anonymous memory under the same appends, opened with 10⁶ events beside 10⁴',
  unit: '×',
  atMost: 1.2,
};

interface Standalone extends Store {
  readonly server: ServerProcess;
  /** Seconds from the start of the process until it takes connections. */
  readonly took: number;
}

/** @param core all of them where none is given: how long opening takes is not about one */
const startStore = async (stage: Stage, dir: string, core: number | null = null): Promise<Standalone> => {
  const port = await freePort();
  const command = [process.execPath, builtMain, 'eventstore', '--dir', dir, '--port', `${port}`];
  const begun = performance.now();
  const server = await startServer({ name: 'weir eventstore', command, port, core });
  stage.onEnd(server.end);
  return { server, pid: server.pid, endpoint: `127.0.0.1:${port}`, took: (performance.now() - begun) / 1000 };
};

/** Bytes that the files of a folder take on the disk. */
const diskOf = (dir: string): number =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' }).reduce(
    (sum, name) => sum + lstatSync(join(dir, name)).blocks * 512,
    0,
  );

/** How many times as long one append takes in the large store, round by round. */
const growthOf = (measured: readonly MeasuredWay[]): Estimate | null => {
  const [small, large] = measured.map(({ p50s }) => p50s);
  return small?.length && large?.length === small.length ? estimate(pairedRatios(large, small)) : null;
};

/** What a store owes to its size: as little as its bars say. */
export const store1e6: Scenario = {
  id: 'store-1e6',
  title: 'The embedded event store with a million events',
  about: [
    `\`weir eventstore\` with ${many.toLocaleString('en-US')} events of ${eventBytes} bytes, each on a stream of its own with a name of some 20 bytes, written over TCP by the published client. It is ended by SIGTERM and by SIGKILL, and opened again; then one append at a time, in turns with a store of ${few.toLocaleString('en-US')} events.`,
    'Opening is timed from the start of the process until it takes connections, on all cores, with the pages of the file still in the memory of the system. Anonymous memory is what no file stands behind.',
  ],
  async run(stage) {
    const load = await startEventLoad(stage);
    const dirs = { few: join(stage.dir, 'few'), many: join(stage.dir, 'many') };
    const fill = async (store: Store, events: number): Promise<void> => {
      for (let filled = 0; filled < events && !stage.interrupted.aborted; filled += portion) {
        stage.tell(`filling: ${filled.toLocaleString('en-US')} events`, filled / events);
        await load.fill(store, portion);
      }
    };
    const { server: core } = stage.pinning;
    const small = await startStore(stage, dirs.few, core);
    await fill(small, few);
    await small.server.end();
    const first = await startStore(stage, dirs.many, core);
    await fill(first, many);
    const filledMemory = anonymousOf(first.pid);
    await first.server.end();
    if (stage.interrupted.aborted) return {};
    const perEvent = diskOf(dirs.many) / many;

    const second = await startStore(stage, dirs.many);
    process.kill(second.pid, 'SIGKILL');
    await second.server.end();
    const third = await startStore(stage, dirs.many);
    await third.server.end();

    // Two that have done the same since they were opened.
    const stores = { few: await startStore(stage, dirs.few, core), many: await startStore(stage, dirs.many, core) };
    const way = (name: 'few' | 'many', label: string, unit: string | null) => ({
      described: described(name, label, unit, 1),
      measure: (seconds: number) => load.ask(stores[name], { is: 'append', inFlight: 1, perAppend: 1 }, seconds),
    });
    const measured = await measureWays(stage, [
      way('few', '10⁴ events, append, 1 in flight', null),
      way('many', '10⁶ events, append, 1 in flight', 'few'),
    ]);
    const [before, after] = [anonymousOf(stores.few.pid), anonymousOf(stores.many.pid)];
    return {
      measured,
      rounds: stage.settings.rounds,
      invalid: notOnDisk(stage),
      barsOf: () => [
        barOf(opened, second.took),
        barOf(killed, third.took),
        barOf(memory, filledMemory && filledMemory / megabyte),
        barOf(disk, perEvent),
        barOf(slower, growthOf(measured)),
        barOf(larger, before && after && after / before),
      ],
    };
  },
};
