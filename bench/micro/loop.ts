import { type Estimate, estimate } from '../report/statistics.ts';

/** A small piece of the hot path, called in a tight loop with a running number. */
export interface Micro {
  readonly name: string;
  readonly run: (turn: number) => unknown;
}

const warmUpMs = 200;
const rounds = 7;

/** What the last call has given: a loop whose results nobody looks at may be thrown away. */
let sink: unknown;

const loop = (run: Micro['run'], turns: number, from: number): void => {
  for (let turn = from; turn < from + turns; turn++) sink = run(turn);
};

/** CPU nanoseconds per call, user and system, over interleaved rounds: what disturbs one disturbs all. */
export const cpuNanos = (micros: readonly Micro[], roundMs: number): ReadonlyMap<string, Estimate> => {
  const turns = micros.map(({ run }) => {
    let done = 0;
    for (const until = performance.now() + warmUpMs; performance.now() < until; done += 100) loop(run, 100, done);
    return Math.max(100, Math.round((done * roundMs) / warmUpMs));
  });
  const series = micros.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++) {
    for (const [i, { run }] of micros.entries()) {
      const before = process.cpuUsage();
      loop(run, turns[i]!, round * turns[i]!);
      const { user, system } = process.cpuUsage(before);
      series[i]!.push(((user + system) * 1000) / turns[i]!);
    }
  }
  if (sink === series) throw new Error('never');
  return new Map(micros.map(({ name }, i) => [name, estimate(series[i]!)]));
};
