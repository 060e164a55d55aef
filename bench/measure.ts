import type { HttpSample, Order } from './gen/main.ts';
import type { RequestPlan } from './gen/requests.ts';
import type { Arrivals } from './gen/schedule.ts';
import type { Child } from './machine/child.ts';
import { loadNow, machineTicks, stealShare } from './machine/proc-stat.ts';
import type { Inside, Target } from './target.ts';

/**
 * What a contender is measured for. `work`: CPU per request under as much load as it takes. `proxied`: the same, where
 * the upstream shares the generator's core, so that its rate says nothing. `times`: latency under a load that it can take.
 * `events`: a rate that the disk and the client bound too.
 */
export type Purpose = 'work' | 'proxied' | 'times' | 'events';

export interface HttpPlan {
  readonly requests: readonly RequestPlan[];
  readonly connections: number;
  readonly arrivals: Arrivals;
  /** The status that every answer must have; null where others are part of the measurement. */
  readonly expected: number | null;
  readonly timeoutMs: number;
  readonly seed: number;
}

/** What a report says of a contender before any figure. */
export interface Described {
  readonly name: string;
  readonly label: string;
  readonly purpose: Purpose;
  /** The contender of the same scenario that its figures are divided by. */
  readonly unit: string | null;
  readonly plan: Pick<HttpPlan, 'arrivals' | 'connections'>;
}

/** One server under one load over HTTP. */
export interface Contender extends Described {
  readonly target: Target;
  readonly plan: HttpPlan;
}

export interface Measured {
  readonly contender: Described;
  readonly samples: readonly HttpSample[];
  /** What the server said of itself, of each sample; null where it cannot be asked. */
  readonly inside: readonly (Inside | null)[];
}

/** What the machine did meanwhile. */
export interface Surroundings {
  /** One-minute load averages before the first and after the last round. */
  readonly load: { readonly before: number; readonly after: number };
  /** Share of the machine's time that the hypervisor took; null where it cannot be told. */
  readonly steal: number | null;
}

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  /** Load on each contender before the first round, for its code to be compiled; longer while that goes on. */
  readonly warmUpSeconds: number;
}

export interface Meter {
  readonly generator: Child;
  /** Ends the measurement early; what is there is kept. */
  readonly interrupted: AbortSignal;
  /** @param part of the whole that is done, 0 to 1 */
  tell(text: string, part: number): void;
}

/** Load before each window, so that it begins in full swing. */
const rampMs = 300;
const marginMs = 20_000;

const sampleOf = async (meter: Meter, contender: Contender, seconds: number, ramp: number): Promise<HttpSample> => {
  const { target, plan } = contender;
  const { address, keys, pid } = target;
  const order: Order = { address, keys, pid, ...plan, seconds, rampMs: ramp };
  const cut = () => meter.generator.cut();
  meter.interrupted.addEventListener('abort', cut);
  try {
    return await meter.generator.ask<HttpSample>(order, ramp + seconds * 1000 + plan.timeoutMs + marginMs);
  } catch (error) {
    throw new Error(`${contender.label}: ${target.lost() ?? (error as Error).message}`, { cause: error });
  } finally {
    meter.interrupted.removeEventListener('abort', cut);
  }
};

const leastSlices = 2;
const mostSlices = 8;
const settled = 0.9;

/**
 * Load that is thrown away, in two halves and more of them while CPU per request still falls: on a machine with other
 * work the compiler gets to little in the same time.
 */
const warmUp = async (meter: Meter, contender: Contender, seconds: number): Promise<void> => {
  for (let slice = 1, before = Infinity; slice <= mostSlices && !meter.interrupted.aborted; slice++) {
    const { serverMicros, done } = await sampleOf(meter, contender, seconds / leastSlices, 0);
    const cpu = done === 0 || serverMicros === null ? 0 : serverMicros / done;
    if (slice >= leastSlices && cpu >= settled * before) return;
    before = cpu;
  }
};

/** One window of load on one contender. */
export const measureOnce = async (
  meter: Meter,
  contender: Contender,
  seconds: number,
): Promise<{ sample: HttpSample; inside: Inside | null }> => {
  await contender.target.forget?.();
  const sample = await sampleOf(meter, contender, seconds, rampMs);
  return { sample, inside: (await contender.target.inside?.()) ?? null };
};

/** Measures A B C A B C …, so that what disturbs the machine for a while disturbs all contenders of a round. */
export const measureRounds = async (
  meter: Meter,
  contenders: readonly Contender[],
  { rounds, seconds, warmUpSeconds }: Rounds,
): Promise<{ measured: readonly Measured[]; surroundings: Surroundings }> => {
  const before = { load: loadNow(), ticks: machineTicks() };
  const measured = contenders.map((contender) => ({
    contender,
    samples: [] as HttpSample[],
    inside: [] as (Inside | null)[],
  }));
  const steps = contenders.length * (rounds + 1);
  let step = 0;
  if (warmUpSeconds > 0) {
    for (const contender of contenders) {
      if (meter.interrupted.aborted) break;
      meter.tell(`warm-up: ${contender.label}`, step++ / steps);
      await warmUp(meter, contender, warmUpSeconds);
    }
  }
  for (let round = 1; round <= rounds; round++) {
    for (const { contender, samples, inside } of measured) {
      if (meter.interrupted.aborted) break;
      meter.tell(`round ${round} of ${rounds}: ${contender.label}`, step++ / steps);
      const once = await measureOnce(meter, contender, seconds);
      samples.push(once.sample);
      inside.push(once.inside);
    }
  }
  // Ratios are of whole rounds: what a cut-off round has begun is left out.
  const complete = Math.min(...measured.map(({ samples }) => samples.length));
  for (const { samples, inside } of measured) {
    samples.length = complete;
    inside.length = complete;
  }
  return {
    measured: complete === 0 ? [] : measured,
    surroundings: {
      load: { before: before.load, after: loadNow() },
      steal: stealShare(before.ticks, machineTicks()),
    },
  };
};
