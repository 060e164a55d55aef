import { measureOnce, measureRounds } from '../measure.ts';
import { type BarRule, barOf } from '../report/bar.ts';
import type { ContenderResult, Window } from '../report/contender.ts';
import { median } from '../report/statistics.ts';
import { closedPlan, contender } from './plans.ts';
import { modelsRequest } from './requests.ts';
import type { Scenario } from './scenario.ts';
import { weirUnderLoad } from './weir-under-load.ts';

const load = 0.5;
/** Of a slice; each has its own percentiles and its own look at the memory. */
const sliceSeconds = 10;
/** What the windows of 3,000 organizations admit for minutes on end; the days' admit 100,000 a key. */
const mostPerSecond = 40_000;

const memory: BarRule = {
  id: 'soak-rss',
  title: 'resident memory, last third beside first third of the soak',
  unit: '×',
  atMost: 1.1,
};
const drift: BarRule = {
  id: 'soak-p99',
  title: 'p99, last third beside first third of the soak',
  unit: '×',
  atMost: 1.3,
};

const thirds = <T>(values: readonly T[]): readonly [readonly T[], readonly T[]] => {
  const size = Math.max(1, Math.floor(values.length / 3));
  return [values.slice(0, size), values.slice(-size)];
};

/** How much a figure has grown: its median over the last third of the windows by that over the first. */
export const growthOf = (values: readonly number[]): number | null => {
  if (values.length < 3) return null;
  const [first, last] = thirds(values);
  return median(last) / median(first);
};

/** @param duration of the whole, seconds */
export const soakOf = (duration: number): Scenario => ({
  id: 'soak',
  title: `Soak: ${Math.round(duration / 60)} minutes at half of what it can do`,
  about: [
    `A closed loop first finds the rate; then an open loop at ${load * 100} % of it, in slices of ${sliceSeconds} s, each with its own percentiles, memory and event-loop delay.`,
  ],
  async run(stage) {
    const { weir, keys } = await weirUnderLoad(stage);
    const target = { ...weir, keys };
    const most = contender('most', 'the most', target, closedPlan(stage, modelsRequest), null);
    const { sample } = await measureOnce(stage, most, 2);
    const rate = Math.min(mostPerSecond, Math.round((load * sample.done) / sample.seconds));
    const plan = closedPlan(stage, modelsRequest, { arrivals: { is: 'poisson', rate }, expected: null });
    const rounds = Math.max(1, Math.round(duration / sliceSeconds));
    const slices = { rounds, seconds: Math.min(sliceSeconds, duration), warmUpSeconds: stage.settings.warmUpSeconds };
    const found = await measureRounds(
      stage,
      [contender('soak', `Weir at ${rate}/s`, target, plan, null, 'times')],
      slices,
    );
    return {
      ...found,
      rounds: null,
      notes: [
        `half of ${Math.round(sample.done / sample.seconds)} requests per second, at most ${mostPerSecond}: ${rate}`,
      ],
      barsOf: (results: ReadonlyMap<string, ContenderResult>) => {
        const soaked = results.get('soak');
        const rss = soaked?.windows.map((window: Window) => window.rss ?? Number.NaN) ?? [];
        return [barOf(memory, growthOf(rss)), barOf(drift, growthOf(soaked?.p99Rounds ?? []))];
      },
    };
  },
});

const tenMinutes = 600;
export const soak = soakOf(tenMinutes);
