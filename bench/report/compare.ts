import type { ContenderResult } from './contender.ts';
import type { Result } from './result.ts';
import { type Estimate, estimateChange } from './statistics.ts';

/** One contender in both runs: how its CPU per request, as a ratio to its unit, has changed. */
export interface Change {
  readonly scenario: string;
  readonly label: string;
  readonly before: number;
  readonly after: number;
  readonly change: Estimate;
  readonly verdict: 'slower' | 'faster' | 'same';
}

const seriesOf = (contender: ContenderResult, all: readonly ContenderResult[]): number[] | null => {
  const unit = all.find(({ name }) => name === contender.unit);
  if (!unit || unit.windows.length !== contender.windows.length) return null;
  const ratios = contender.windows.map(({ serverMicros, done }, i) => {
    const other = unit.windows[i]!;
    return (serverMicros ?? Number.NaN) / done / ((other.serverMicros ?? Number.NaN) / other.done);
  });
  return ratios.length > 0 && ratios.every((ratio) => ratio > 0) ? ratios : null;
};

/** Ratios alone are compared: rates of two runs are of two machines, even where they are one. */
export const compareResults = (before: Result, after: Result, maxChange: number): readonly Change[] =>
  after.scenarios.flatMap(({ id, contenders }) => {
    const old = before.scenarios.find((scenario) => scenario.id === id)?.contenders ?? [];
    return contenders.flatMap((contender) => {
      const match = old.find(({ name }) => name === contender.name);
      const [was, is] = [match ? seriesOf(match, old) : null, seriesOf(contender, contenders)];
      if (!was || !is || !match) return [];
      const change = estimateChange(was, is);
      const isBeyond = change.median > maxChange || change.median < 1 / maxChange;
      const isCertain = change.low > 1 || change.high < 1;
      const verdict = !isBeyond || !isCertain ? 'same' : change.median > 1 ? 'slower' : 'faster';
      const [before, after] = [match.cpuRatio?.median ?? Number.NaN, contender.cpuRatio?.median ?? Number.NaN];
      return [{ scenario: id, label: contender.label, before, after, change, verdict }];
    });
  });
