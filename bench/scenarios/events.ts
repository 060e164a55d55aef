import { join } from 'node:path';
import type { HttpSample } from '../gen/main.ts';
import type { Sample } from '../gen/sample.ts';
import type { FillOrder, StoreOrder, StoreSample } from '../gen/store-load.ts';
import type { Described, Measured } from '../measure.ts';
import type { Stage } from '../stage.ts';

/** Of an event's data. */
export const eventBytes = 268;

/** Beside a figure in seconds that has a ratio as well. */
export const elsewhere = 'of the machine it was set on; the ratio is for slower ones';

/** Where a store of events listens, and whose CPU time counts. */
export interface Store {
  readonly endpoint: string;
  readonly pid: number;
}

/** Something that is done to a store again and again. */
export interface Way {
  readonly described: Described;
  measure(seconds: number): Promise<Sample & { readonly p50?: number | null }>;
}

/** What the rounds of a way have shown. */
export interface MeasuredWay extends Measured {
  /** Median times of each round, milliseconds, where they were taken. */
  readonly p50s: readonly number[];
}

export const described = (name: string, label: string, unit: string | null, connections: number): Described => ({
  name,
  label,
  purpose: 'events',
  unit,
  plan: { arrivals: { is: 'closed' }, connections },
});

const rampMs = 300;
const marginMs = 30_000;

/** The process that makes the load, with the client as it is published. */
export const startEventLoad = async (stage: Stage) => {
  const entry = new URL('../gen/store-load.ts', import.meta.url);
  const load = await stage.child('The client', entry, stage.pinning.generator);
  return {
    ask: (store: Store, work: StoreOrder['work'], seconds: number): Promise<StoreSample> =>
      load.ask({ ...store, work, eventBytes, rampMs, seconds } satisfies StoreOrder, marginMs + seconds * 1000),
    fill: ({ endpoint }: Store, fill: number): Promise<null> =>
      load.ask({ endpoint, fill, eventBytes } satisfies FillOrder, marginMs),
  };
};

/** The empty framing, whose log has so many events to read. */
export const startFraming = async (stage: Stage, events: number): Promise<Store> => {
  const entry = new URL('../peers/empty-framing.ts', import.meta.url);
  const { ask, pid } = await stage.child('The empty framing', entry, stage.pinning.server);
  const order = { socket: join(stage.dir, 'empty.sock'), events, eventBytes };
  return { pid, ...(await ask<{ endpoint: string }>(order)) };
};

/** What HTTP has and a store has not is empty. */
const asSample = (sample: Sample): HttpSample => ({
  ...sample,
  statuses: { 200: sample.done },
  histograms: {},
  timeline: [],
  busy: Math.min(1, sample.loadMicros / (sample.seconds * 1e6)),
  rss: null,
});

/** Measures A B C A B C …; what a warm-up gives is thrown away, and so is a round that was cut off. */
export const measureWays = async (stage: Stage, ways: readonly Way[]): Promise<readonly MeasuredWay[]> => {
  const { rounds, seconds, warmUpSeconds } = stage.settings;
  const shown = ways.map((way) => ({ ...way, samples: [] as HttpSample[], p50s: [] as number[] }));
  let complete = 0;
  for (let round = 0; round <= rounds && !stage.interrupted.aborted; round++) {
    for (const [i, { described: each, samples, p50s, measure }] of shown.entries()) {
      if (stage.interrupted.aborted) break;
      stage.tell(
        `${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${each.label}`,
        (round + i / ways.length) / (rounds + 1),
      );
      const sample = await measure(round === 0 ? Math.max(0.5, warmUpSeconds / 3) : seconds);
      if (round === 0) continue;
      samples.push(asSample(sample));
      if (sample.p50 != null) p50s.push(sample.p50);
    }
    if (!stage.interrupted.aborted) complete = round;
  }
  if (complete === 0) return [];
  return shown.map(({ described: contender, samples, p50s }) => ({
    contender,
    samples: samples.slice(0, complete),
    p50s: p50s.slice(0, complete),
    inside: samples.slice(0, complete).map(() => null),
  }));
};
