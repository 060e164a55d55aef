import type { Measured, Surroundings } from '../measure.ts';
import type { Bar } from '../report/bar.ts';
import type { ContenderResult } from '../report/contender.ts';
import type { Curve } from '../report/result.ts';
import type { Stage } from '../stage.ts';
import type { TruthRow } from '../truth/truth.ts';

/** What a scenario has found; `barsOf` sees the contenders once they are reduced. */
export interface Findings {
  readonly measured?: readonly Measured[];
  readonly surroundings?: Surroundings;
  /** Null where the scenario is not about medians of rounds. */
  readonly rounds?: number | null;
  readonly barsOf?: (contenders: ReadonlyMap<string, ContenderResult>) => readonly Bar[];
  readonly curves?: readonly Curve[];
  readonly truth?: readonly TruthRow[];
  readonly notes?: readonly string[];
  /** Further reasons why nothing of it may be quoted. */
  readonly invalid?: readonly string[];
}

/** A load with what it is to show. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** What is done, in sentences. */
  readonly about: readonly string[];
  /** Measures a gateway at an address: nothing of this checkout is run, and nothing has to be built. */
  readonly isElsewhere?: boolean;
  run(stage: Stage): Promise<Findings>;
}
