import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { htmlReport } from '../../../bench/report/html.ts';
import { coloursOf } from '../../../bench/report/who.ts';
import { result, scenario } from './made-up.ts';

interface Drawn {
  readonly padding: readonly (number | null)[];
  readonly series: readonly { readonly label: string; readonly stroke?: string }[];
}

const unescaped = (text: string): string => text.replaceAll('&quot;', '"');

/** Runs the script of a page on its own places for charts, with a plotter that keeps what it is told. */
const draw = (page: string): ReadonlyMap<string, Drawn> => {
  const drawn = new Map<string, Drawn>();
  const places = [
    ...page.matchAll(/data-chart="(.*?)" data-scenario="(.*?)" data-index="(.*?)" data-colours="(.*?)"/g),
  ];
  const selected = /<option value="(\d+)" selected>/.exec(page)?.[1];
  const data = /id="result">([\s\S]*?)<\/script>/.exec(page)![1];
  const listens = { addEventListener: () => {} };
  class Plot {
    static join = (tables: readonly unknown[]) => tables;
    constructor(options: Drawn, _: unknown, place: { dataset: { chart: string } }) {
      drawn.set(place.dataset.chart, options);
    }
  }
  const document = {
    documentElement: {},
    getElementById: () => ({ textContent: data, ...listens }),
    querySelector: () => ({ value: selected, ...listens }),
    querySelectorAll: (selector: string) =>
      selector === 'select'
        ? []
        : places.map(([, chart, scenario, index, colours]) => ({
            clientWidth: 800,
            dataset: { chart, scenario, index, colours: unescaped(colours!) },
          })),
  };
  runInNewContext(readFileSync(new URL('../../../bench/report/page/charts.js', import.meta.url), 'utf8'), {
    document,
    uPlot: Plot,
    getComputedStyle: () => ({ getPropertyValue: (name: string) => name }),
    matchMedia: () => listens,
    addEventListener: () => {},
    devicePixelRatio: 1,
  });
  return drawn;
};

const found = scenario();
const drawn = draw(htmlReport(result(found)));
const colourOf = coloursOf([found]);
const [hello, weir] = found.contenders.map(({ label }) => label);

test('the charts of one contender open on Weir, in its colour', () => {
  const [timeline, stack] = [drawn.get('timeline')!, drawn.get('stack')!];
  expect(timeline.series.find(({ label }) => label === 'answered')?.stroke).toBe(colourOf(weir!));
  expect(stack.series.find(({ label }) => label === '200')?.stroke).toBe(colourOf(weir!));
});

test('the chart of all has the same colours', () => {
  const strokes = new Map(drawn.get('spectrum')!.series.map(({ label, stroke }) => [label, stroke]));
  expect([strokes.get(hello!), strokes.get(weir!)]).toEqual([colourOf(hello!), colourOf(weir!)]);
  expect(colourOf(weir!)).not.toBe(colourOf(hello!));
});

test('beside the last label of an axis there is room for its half', () => {
  expect(drawn.get('spectrum')!.padding[1]).toBeGreaterThanOrEqual(36);
  expect(drawn.get('stack')!.padding[1]).toBeGreaterThanOrEqual(36);
});
