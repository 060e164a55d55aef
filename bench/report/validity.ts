import { spread } from './statistics.ts';

/** What a run shows of itself. Shares are of one core. */
export interface Evidence {
  readonly rounds: number;
  readonly cores: number;
  readonly load: { readonly before: number; readonly after: number };
  /** Null where it cannot be told. */
  readonly steal: number | null;
  /** CPU per request of the bare server in each round; null without /proc, undefined where it was not measured. */
  readonly bare: readonly number[] | null | undefined;
  /** The HTTP contenders; what has no generator apart from what it measures is left out. */
  readonly loads: readonly LoadEvidence[];
  /** Whether fsync was measured on a file system in memory. */
  readonly inMemory: boolean;
}

export interface LoadEvidence {
  readonly name: string;
  readonly generatorShare: number;
  readonly serverShare: number | null;
  readonly sleepsPerRequest: number | null;
}

export interface Verdict {
  readonly is: 'VALID' | 'INVALID' | 'VALID FOR CPU PER REQUEST ONLY';
  /** Why nothing here may be quoted. */
  readonly invalid: readonly string[];
  /** Why some rates may not be quoted. */
  readonly rates: readonly string[];
  /** The contenders whose rate says nothing of the server. */
  readonly unratedNames: readonly string[];
}

const fewestRounds = 5;
const mostSteal = 0.02;
const mostSpread = 0.15;
const busiestGenerator = 0.9;
/** Below this on both sides neither was the limit. */
const busy = 0.85;
/** Above this the server mostly waited, and what waking up costs is in its CPU time. */
const mostSleeps = 0.1;

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

const whole = (evidence: Evidence): string[] => {
  const { rounds, cores, load, steal, bare, loads, inMemory } = evidence;
  const reasons: string[] = [];
  if (rounds < fewestRounds) reasons.push(`${rounds} rounds are fewer than the ${fewestRounds} that a median needs`);
  if (steal !== null && steal > mostSteal)
    reasons.push(`the hypervisor took ${percent(steal)} of the time (limit ${percent(mostSteal)})`);
  const most = Math.max(load.before, load.after);
  if (most > cores + 1)
    reasons.push(
      `the load average was ${most.toFixed(1)} (limit ${cores + 1} on ${cores} cores): others are at work here`,
    );
  if (bare === null) reasons.push('without /proc there is no CPU time, and without it no calibration');
  if (bare && spread(bare) > mostSpread)
    reasons.push(`bare CPU/request strayed ${percent(spread(bare))} from its median (limit ${percent(mostSpread)})`);
  for (const { name, sleepsPerRequest: sleeps } of loads)
    if (sleeps !== null && sleeps > mostSleeps)
      reasons.push(
        `the server of ${name} slept ${sleeps.toFixed(2)} times per request (limit ${mostSleeps}): the load was too light`,
      );
  if (inMemory) reasons.push('the data is on a file system in memory, where fsync costs nothing (set TMPDIR)');
  return reasons;
};

/** Why the rate of one contender is not the server's, or null where it is. */
const rateFault = ({ name, generatorShare: generator, serverShare: server }: LoadEvidence): string | null => {
  if (generator > busiestGenerator)
    return `${name} is generator-bound (generator at ${percent(generator)} of its core): its rate is a lower bound`;
  if (server !== null && server < busy && generator < busy)
    return `${name} kept nobody busy (server ${percent(server)}, generator ${percent(generator)}): others had the cores`;
  return null;
};

/** Judges a run by the rules of bench.md ("Honest methodology"). */
export const judge = (evidence: Evidence): Verdict => {
  const invalid = whole(evidence);
  const faults = evidence.loads.map((load) => ({ name: load.name, fault: rateFault(load) }));
  const faulty = faults.filter(({ fault }) => fault !== null);
  const rates = faulty.map(({ fault }) => fault!);
  const is = invalid.length > 0 ? 'INVALID' : rates.length > 0 ? 'VALID FOR CPU PER REQUEST ONLY' : 'VALID';
  return { is, invalid, rates, unratedNames: faulty.map(({ name }) => name) };
};

/** The exit status of a run. */
export const exitStatusOf = ({ is }: Verdict): number =>
  ({ VALID: 0, INVALID: 3, 'VALID FOR CPU PER REQUEST ONLY': 4 })[is];
