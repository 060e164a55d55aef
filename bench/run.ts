import type { Sample } from './gen/sample.ts';
import { loadNow, machineTicks, stealShare } from './machine/proc-stat.ts';
import type { Rig, Span } from './rig.ts';
import type { ContenderName } from './scenarios/names.ts';

export type Samples = Readonly<Partial<Record<ContenderName, readonly Sample[]>>>;

/** What the machine did while the rounds ran. */
export interface Surroundings {
  /** One-minute load averages before the first and after the last round. */
  readonly load: { readonly before: number; readonly after: number };
  /** Share of the machine's time that the hypervisor took; null where it cannot be told. */
  readonly steal: number | null;
}

export interface Rounds {
  readonly samples: Samples;
  readonly surroundings: Surroundings;
}

export interface Plan {
  readonly contenders: readonly ContenderName[];
  readonly rounds: number;
  readonly seconds: number;
}

/** Load that is not measured: once per contender for its code to be compiled, and before each window. */
export const warmUpSeconds = 3;
export const rampMs = 300;

/** Measures A B C A B C …, so that what disturbs the machine for a while disturbs all contenders of a round. */
export const runRounds = async (plan: Plan, rig: Rig, tell: (text: string) => void): Promise<Rounds> => {
  const { contenders, rounds, seconds } = plan;
  const before = { load: loadNow(), ticks: machineTicks() };
  const samples: Partial<Record<ContenderName, Sample[]>> = {};
  for (const name of contenders) {
    tell(`warm-up: ${name}`);
    await rig.measure(name, { rampMs: 0, seconds: warmUpSeconds });
    samples[name] = [];
  }
  const span: Span = { rampMs, seconds };
  for (let round = 1; round <= rounds; round++) {
    for (const name of contenders) {
      tell(`round ${round} of ${rounds}: ${name}`);
      samples[name]!.push(await rig.measure(name, span));
    }
  }
  return {
    samples,
    surroundings: {
      load: { before: before.load, after: loadNow() },
      steal: stealShare(before.ticks, machineTicks()),
    },
  };
};
