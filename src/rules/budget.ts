import type { CompiledRule } from './compile.ts';
import { evaluated } from './cost/quantity.ts';
import { maxNanosOnLoop, maxScanned, maxScannedOnLoop, maxWork } from './language/limits.ts';
import type { TextView } from './text/view.ts';
import { sizeIn } from './text/view-sizes.ts';

/** Where an evaluation may run: `loop` at once, `worker` in a thread, or not at all. */
export type EvaluationPlace = 'loop' | 'worker' | 'too much work' | 'too much text';

/** Decides before anything is evaluated (contract H, run-time budget). */
export const placeFor = (rule: CompiledRule, view: TextView): EvaluationPlace => {
  const sizeOf = (name: string): number => sizeIn(view, name);
  if (evaluated(rule.cost.work, sizeOf) > maxWork) return 'too much work';
  const scanned = evaluated(rule.cost.scanned, sizeOf);
  if (scanned > maxScanned) return 'too much text';
  if (scanned > maxScannedOnLoop) return 'worker';
  return nanosOf(rule, view) > maxNanosOnLoop ? 'worker' : 'loop';
};

/** What an evaluation takes at the worst. */
export const nanosOf = (rule: CompiledRule, view: TextView): number =>
  evaluated(rule.cost.nanos, (name) => sizeIn(view, name));
