/**
 * What a request costs in the window store alone, in a tight loop, beside rate-limiter-flexible
 * with the same ten counters. CPU time, not wall time. In a server the caches are colder: there it is about three times that.
 */
import Table from 'cli-table3';
import { type Child, startChild } from '../machine/child.ts';
import { choosePinning } from '../machine/pin.ts';
import { loadNow } from '../machine/proc-stat.ts';
import { estimate, median, pairedRatios } from '../report/statistics.ts';
import type { Micro, Order } from './traffic.ts';
import type { WindowsOrder } from './windows.ts';

interface Contender {
  readonly title: string;
  readonly entry: URL;
  readonly order: Order | WindowsOrder;
  /** What limits.md 5 asks for. */
  readonly bar?: { readonly nanoseconds?: number; readonly bytes?: number };
}

const windows = new URL('./windows.ts', import.meta.url);
const flexible = new URL('./flexible.ts', import.meta.url);
const loop = { warmUp: 300_000, operations: 1_000_000 };
const free = { ...loop, tier: 0, withHeaders: false } as const;

/** The first is the unit of the ratios. */
const contenders: readonly Contender[] = [
  {
    title: 'Weir, 1e5 Free keys',
    entry: windows,
    order: { ...free, keys: 100_000 },
    bar: { nanoseconds: 600, bytes: 1_024 },
  },
  { title: 'the same, with the headers', entry: windows, order: { ...free, keys: 100_000, withHeaders: true } },
  { title: 'Weir, 1e6 Free keys', entry: windows, order: { ...free, keys: 1_000_000 }, bar: { nanoseconds: 1_000 } },
  {
    title: 'Weir, 1e5 keys of tier 5',
    entry: windows,
    order: { ...free, tier: 5, keys: 100_000 },
    bar: { bytes: 4_096 },
  },
  {
    title: 'rate-limiter-flexible, 1e5 keys',
    entry: flexible,
    order: { keys: 100_000, warmUp: 20_000, operations: 100_000 },
  },
];
const withinMs = 300_000;

/** @param undo takes what ends the processes. @returns the report */
export const limitsReport = async (
  rounds: number,
  say: (text: string) => void,
  undo: (() => Promise<void>)[],
): Promise<string> => {
  const { server: core } = choosePinning();
  const before = loadNow();
  const children: Child[] = [];
  for (const { title, entry } of contenders) {
    const child = await startChild(title, entry, core);
    undo.push(child.end);
    children.push(child);
  }
  const measured: Micro[][] = contenders.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    say(round === 0 ? 'filling, and warm-up' : `round ${round} of ${rounds}`);
    for (const [i, { order }] of contenders.entries()) {
      const seen = await children[i]!.ask<Micro>(order, withinMs);
      if (round > 0) measured[i]!.push(seen);
    }
  }
  return `\n${tableOf(measured)}
${rounds} interleaved rounds; medians of CPU time, ratios with a bootstrap 95 % interval. One operation: an attempt counted at key,
project and organization, 1,000 tokens reserved and 600 settled; keys by Zipf, s = 1. Bytes: for each key with a quarter of a
project and a sixteenth of an organization; "process" with the names, the maps and what the garbage collector leaves.
load average ${before.toFixed(1)} before, ${loadNow().toFixed(1)} after\n`;
};

const tableOf = (measured: readonly Micro[][]): string => {
  const table = new Table({
    head: ['', 'CPU ns/op', 'bar', '× the first', 'admitted', 'bytes/key', 'bar', 'process'],
    style: { head: [], border: [] },
  });
  const unit = measured[0]!.map(({ nanoseconds }) => nanoseconds);
  for (const [i, { title, bar }] of contenders.entries()) {
    const samples = measured[i]!;
    const times = samples.map(({ nanoseconds }) => nanoseconds);
    const { median: middle, low, high } = estimate(pairedRatios(times, unit));
    const [{ recordBytes, processBytes, admitted }] = samples as [Micro];
    table.push([
      title,
      Math.round(median(times)),
      bar?.nanoseconds ?? '',
      `${middle.toFixed(1)} [${low.toFixed(1)}–${high.toFixed(1)}]`,
      `${Math.round(admitted * 100)} %`,
      recordBytes === null ? '' : Math.round(recordBytes),
      bar?.bytes ?? '',
      Math.round(processBytes),
    ]);
  }
  return table.toString();
};
