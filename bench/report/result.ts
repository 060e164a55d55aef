import type { Environment } from '../machine/environment.ts';
import type { Pinning } from '../machine/pin.ts';
import type { Rounds } from '../run.ts';
import { cpuSeries, type Row, rowsOf } from './rows.ts';
import { judge, type Verdict } from './validity.ts';

/** What was asked of a run. */
export interface Settings {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly inFlight: number;
  readonly eventBytes: number;
  readonly warmUpSeconds: number;
  readonly rampMs: number;
}

/** A run as --json writes it. `schema` grows with every change of what is here. */
export interface Result extends Rounds {
  readonly schema: 1;
  readonly at: string;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly pinning: Pinning;
  readonly rows: readonly Row[];
  readonly verdict: Verdict;
}

export interface Measured extends Rounds {
  readonly at: string;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly pinning: Pinning;
  /** Whether fsync was measured on a file system in memory. */
  readonly inMemory: boolean;
}

/** Reduces the samples to rows and judges them. */
export const resultOf = ({ inMemory, ...measured }: Measured): Result => {
  const { samples, surroundings, settings, environment } = measured;
  const rows = rowsOf(samples);
  const verdict = judge({
    ...surroundings,
    rounds: settings.rounds,
    cores: environment.cores,
    bare: samples.hello && cpuSeries(samples.hello),
    loads: rows
      .filter(({ name }) => name !== 'appends' && name !== 'puts')
      .map(({ name, loadShare, serverShare, sleepsPerRequest }) => ({
        name,
        generatorShare: loadShare,
        serverShare,
        sleepsPerRequest,
      })),
    inMemory,
  });
  return { schema: 1, ...measured, rows, verdict };
};
