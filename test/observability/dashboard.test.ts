import { describe, expect, test } from 'vitest';
import { catalogue } from '../../src/observability/metrics/catalogue.ts';
import { latencies } from '../../src/observability/metrics/cells.ts';
import { registryOf, type Samples } from '../../src/observability/metrics/exposition.ts';
import { dashboard, everyPanel, queries } from './dashboard.ts';
import { readExposition } from './exposition-text.ts';

/** What a Prometheus would know of a gateway: every series by name, with its labels and those of a scrape. */
const known = async (): Promise<Map<string, ReadonlySet<string>>> => {
  const samples = Object.fromEntries(
    Object.entries(catalogue).map(([name, { type, labels }]) => [
      name,
      () => [
        {
          labels: Object.fromEntries(labels.map((label) => [label, 'x'])),
          value: type === 'histogram' ? latencies() : 1,
        },
      ],
    ]),
  ) as unknown as Required<Samples>;
  const series = new Map<string, Set<string>>();
  for (const { samples: read } of readExposition(await (await registryOf(samples)).metrics()).values())
    for (const { name, labels } of read)
      series.set(name, new Set([...(series.get(name) ?? []), ...Object.keys(labels), 'instance', 'job']));
  return series;
};

const metric = /\b((?:weir|nodejs|process)_\w+)/g;
/** Labels in braces and behind by and without. */
const labelsIn = (expr: string): string[] => [
  ...[...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!),
  ...[...expr.matchAll(/\b(?:by|without|on)\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
    list!.split(',').map((one) => one.trim()),
  ),
];

describe('the dashboard', () => {
  test('asks for nothing that the gateway does not say, by no label that it does not have', async () => {
    const series = await known();
    for (const { title, expr } of queries) {
      const named = [...expr.matchAll(metric)].map(([name]) => name);
      expect([title, named.length > 0]).toEqual([title, true]);
      for (const name of named) expect([title, name, series.has(name)]).toEqual([title, name, true]);
      for (const label of labelsIn(expr))
        expect([title, label, named.some((name) => series.get(name)!.has(label))]).toEqual([title, label, true]);
    }
    // What looks for metrics that there are none of finds them.
    expect(series.has('weir_nothing_total')).toBe(false);
  });

  test('shows every metric of the catalogue', () => {
    const asked = [
      ...queries.map(({ expr }) => expr),
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ].join('\n');
    for (const name of Object.keys(catalogue)) expect([name, asked.includes(name)]).toEqual([name, true]);
  });

  test('rates of counters are rates, and quantiles are of buckets', () => {
    for (const { title, expr } of queries) {
      for (const [name] of expr.matchAll(/weir_\w+_(?:total|count|bucket)\b/g))
        expect([title, new RegExp(`rate\\(${name}`).test(expr)]).toEqual([title, true]);
      if (expr.includes('histogram_quantile')) expect([title, /by \([^)]*\ble\b/.test(expr)]).toEqual([title, true]);
    }
  });

  test('has what Grafana wants of one', () => {
    expect(dashboard).toMatchObject({ title: 'Weir', uid: 'weir', time: { from: 'now-1h', to: 'now' } });
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(new Set(everyPanel.map(({ id }) => id)).size).toBe(everyPanel.length);
    const variables = dashboard.templating.list.map(({ name }) => name);
    for (const panel of everyPanel) {
      const { title, type, gridPos, targets = [] } = panel;
      expect([title, gridPos.x + gridPos.w <= 24, gridPos.w > 0, gridPos.h > 0]).toEqual([title, true, true, true]);
      if (type === 'row') continue;
      expect([title, targets.length > 0, new Set(targets.map(({ refId }) => refId)).size]).toEqual([
        title,
        true,
        targets.length,
      ]);
      for (const { datasource, expr = '' } of targets) {
        expect([title, datasource]).toEqual([
          title,
          { type: 'prometheus', uid: expect.stringMatching(/^\$\{datasource\}$/) },
        ]);
        for (const [, name] of expr.matchAll(/\$(?!__)\{?(\w+)/g))
          expect([title, variables]).toEqual([title, expect.arrayContaining([name])]);
      }
      expect([title, panel.fieldConfig?.defaults.unit]).toEqual([title, expect.any(String)]);
    }
    // No two lie on each other.
    const cells = everyPanel.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
