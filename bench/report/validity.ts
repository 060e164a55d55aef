import type { Purpose } from '../measure.ts';
import { spread } from './statistics.ts';

/** What a scenario shows of itself. Shares are of one core. */
export interface Evidence {
  /** Null where the scenario is not about medians of rounds. */
  readonly rounds: number | null;
  readonly cores: number;
  readonly load: { readonly before: number; readonly after: number };
  /** Null where it cannot be told. */
  readonly steal: number | null;
  /** CPU per request of the bare server in each round; null without /proc, undefined where it was not measured. */
  readonly bare: readonly number[] | null | undefined;
  readonly loads: readonly LoadEvidence[];
  /** What the scenario itself knows against its being quoted. */
  readonly reasons?: readonly string[];
}

export interface LoadEvidence {
  readonly name: string;
  /** How sentences call it. */
  readonly label: string;
  readonly purpose: Purpose;
  readonly generatorShare: number;
  readonly serverShare: number | null;
  readonly sleepsPerRequest: number | null;
  /** Requests of the window, whatever became of them. */
  readonly requests: number;
  /** How late the generator took up what was due, 99th percentile in milliseconds; null for a closed loop. */
  readonly lagP99: number | null;
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
const mostLagMs = 1;
/** Below this on both sides neither was the limit. */
const busy = 0.85;
/** Above this the server mostly waited, and what waking up costs is in its CPU time. */
const mostSleeps = 0.1;

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

const generatorFault = ({ label, purpose, generatorShare, lagP99 }: LoadEvidence): string | null => {
  if (purpose !== 'times') return null;
  if (lagP99 !== null && lagP99 > mostLagMs)
    return `the generator was the bottleneck of ${label}: it took up requests ${lagP99.toFixed(1)} ms late (p99, limit ${mostLagMs} ms)`;
  if (generatorShare > busiestGenerator)
    return `the generator was the bottleneck of ${label}: busy ${percent(generatorShare)} of the time (limit ${percent(busiestGenerator)})`;
  return null;
};

const whole = (evidence: Evidence): string[] => {
  const { rounds, cores, load, steal, bare, loads } = evidence;
  const reasons: string[] = [...(evidence.reasons ?? [])];
  if (rounds !== null && rounds < fewestRounds)
    reasons.push(
      `${rounds === 1 ? 'one round is' : `${rounds} rounds are`} fewer than the ${fewestRounds} that a median needs`,
    );
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
  for (const each of loads) {
    const { label, purpose, sleepsPerRequest: sleeps, requests } = each;
    if (requests === 0) reasons.push(`${label} had no request in the window`);
    if (purpose === 'work' && sleeps !== null && sleeps > mostSleeps)
      reasons.push(
        `the server of ${label} slept ${sleeps.toFixed(2)} times per request (limit ${mostSleeps}): the load was too light`,
      );
    const fault = generatorFault(each);
    if (fault !== null) reasons.push(fault);
  }
  return reasons;
};

/** Why the rate of one contender is not the server's, or null where it is. */
const rateFault = ({ label, purpose, generatorShare: generator, serverShare: server }: LoadEvidence): string | null => {
  if (purpose !== 'work') return null;
  if (generator > busiestGenerator)
    return `${label} is generator-bound (generator at ${percent(generator)} of its core): its rate is a lower bound`;
  if (server !== null && server < busy && generator < busy)
    return `${label} kept nobody busy (server ${percent(server)}, generator ${percent(generator)}): others had the cores`;
  return null;
};

/** Judges a scenario by the rules of bench/README.md (how to read it). */
export const judge = (evidence: Evidence): Verdict => {
  const invalid = whole(evidence);
  const faults = evidence.loads.map((load) => ({ name: load.name, fault: rateFault(load) }));
  const faulty = faults.filter(({ fault }) => fault !== null);
  const rates = faulty.map(({ fault }) => fault!);
  const is = invalid.length > 0 ? 'INVALID' : rates.length > 0 ? 'VALID FOR CPU PER REQUEST ONLY' : 'VALID';
  const unratedNames = [
    ...faulty.map(({ name }) => name),
    // The upstream shares the generator's core.
    ...evidence.loads.filter(({ purpose }) => purpose === 'proxied').map(({ name }) => name),
  ];
  return { is, invalid, rates, unratedNames };
};
