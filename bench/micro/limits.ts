import Table from 'cli-table3';
import { type Child, startChild } from '../machine/child.ts';
import { choosePinning } from '../machine/pin.ts';
import { figure } from '../report/figures.ts';
import { estimate, median, pairedRatios } from '../report/statistics.ts';
import type { Session } from '../session.ts';
import type { MicroSample, Order } from './traffic.ts';
import type { WindowsOrder } from './windows.ts';

/** What a request costs in the window store alone, beside rate-limiter-flexible with the same ten counters. */
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

/**
 * Rounds of all contenders, interleaved, each in a process of its own.
 * @returns a table and what it means
 */
export const limitsTable = async (rounds: number, { undo, tell }: Session): Promise<string> => {
  const { server: core } = choosePinning();
  const children: Child[] = [];
  for (const { title, entry } of contenders) {
    const child = await startChild(title, entry, core);
    undo.push(child.end);
    children.push(child);
  }
  const measured: MicroSample[][] = contenders.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { title, order }] of contenders.entries()) {
      tell(`${round === 0 ? 'filling' : 'measuring'} ${title}`, (round + i / contenders.length) / (rounds + 1));
      const seen = await children[i]!.ask<MicroSample>(order, withinMs);
      if (round > 0) measured[i]!.push(seen);
    }
  }
  for (const child of children) await child.end();
  return `${tableOf(measured)}
${rounds} interleaved rounds; medians of CPU time, ratios with a 95 % interval. One operation: an attempt counted at key, project
and organization, 1,000 tokens reserved and 600 settled; keys by Zipf's law, exponent 1. Bytes: for each key with a quarter of
a project and a sixteenth of an organization; "process" with names, maps and what the garbage collector leaves.
`;
};

const tableOf = (measured: readonly MicroSample[][]): string => {
  const table = new Table({
    head: ['', 'CPU ns/op', 'bar', '× the first', 'admitted', 'bytes/key', 'bar', 'process'],
    style: { head: [], border: [], compact: true },
  });
  const unit = measured[0]!.map(({ nanoseconds }) => nanoseconds);
  for (const [i, { title, bar }] of contenders.entries()) {
    const samples = measured[i]!;
    const times = samples.map(({ nanoseconds }) => nanoseconds);
    const { median: middle, low, high } = estimate(pairedRatios(times, unit));
    const [{ recordBytes, processBytes, admitted }] = samples as [MicroSample];
    table.push([
      title,
      figure(median(times)),
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
