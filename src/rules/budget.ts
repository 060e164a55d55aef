import type { CompiledRule } from './compile.ts';
import { evaluated } from './cost/quantity.ts';
import { maxNanosOnLoop, maxScanned, maxScannedOnLoop, maxWork } from './language/limits.ts';
import { sizeIn } from './text/fields.ts';
import type { TextView } from './text/view.ts';

/** `loop`: on the event loop; `worker`: in a thread; otherwise not at all. */
export type EvaluationPlace = 'loop' | 'worker' | 'too much work' | 'too much text';

export interface Price {
  readonly place: EvaluationPlace;
  readonly nanos: number;
}

/** Decides before anything is evaluated (contract H). */
export const priceOf = ({ cost }: CompiledRule, view: TextView): Price => {
  const sizeOf = (name: string): number => sizeIn(view, name);
  const nanos = evaluated(cost.nanos, sizeOf);
  if (evaluated(cost.work, sizeOf) > maxWork) return { place: 'too much work', nanos };
  const scanned = evaluated(cost.scanned, sizeOf);
  if (scanned > maxScanned) return { place: 'too much text', nanos };
  return { place: scanned > maxScannedOnLoop || nanos > maxNanosOnLoop ? 'worker' : 'loop', nanos };
};
