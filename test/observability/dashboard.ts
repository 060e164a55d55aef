import { readFileSync } from 'node:fs';

interface Target {
  readonly expr?: string;
  readonly legendFormat?: string;
  readonly refId?: string;
  readonly datasource?: { readonly type?: string; readonly uid?: string };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly panels?: readonly Panel[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
}

export interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly time: { readonly from: string; readonly to: string };
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

export const dashboard = JSON.parse(
  readFileSync(new URL('../../src/deploy/grafana/weir.json', import.meta.url), 'utf8'),
) as Dashboard;

const all = (panels: readonly Panel[]): Panel[] => panels.flatMap((panel) => [panel, ...all(panel.panels ?? [])]);

export const everyPanel = all(dashboard.panels);

/** Every query with the title of its panel, the variables filled in as Grafana does. */
export const queries = everyPanel.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr = '' }) => ({
    title,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h').replaceAll('$instance', '.+'),
  })),
);
