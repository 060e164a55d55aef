import { type Figures, type Plan, percentile } from './figures.ts';
import type { Kind } from './tortures.ts';

/** One line of the table, by the id of its torture. */
export interface Row {
  readonly id: string;
  readonly count: number;
  readonly cells: readonly string[];
}

const heads = [
  'torture',
  'what was run',
  'acknowledged',
  'lost',
  'twice',
  'gaps',
  'violations',
  'canary',
  'seed',
  'seen',
];
export const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
const ungrouped = (text: string): number => Number(text.replaceAll(',', '').split(' ')[0]);

export const rowOf = ({ id, title, unit }: Kind, { seed }: Plan, figures: Figures, canary: Figures): Row => {
  const { cycles, acknowledged, lost, doubled, gaps, wrong, restartMs, notes } = figures;
  const ready = [0.5, 0.99].map((share) => `${Math.round(percentile(restartMs, share))} ms`);
  const seen = restartMs.length > 0 ? [...notes, `ready again after ${ready.join(', p99 ')}`] : notes;
  const cells = [
    `${id} ${title}`,
    `${grouped(cycles)} ${unit}`,
    ...[acknowledged, lost, doubled, gaps, wrong].map(grouped),
    `${grouped(canary.wrong)} faults`,
    String(seed),
    seen.join('; '),
  ];
  return { id, count: cycles, cells };
};

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** The rows of a table as it stands in test/README.md. */
export const rowsIn = (text: string): Row[] =>
  text
    .split('\n')
    .filter((each) => /^\| [A-Z]+\d* /.test(each))
    .map((each) => {
      const cells = each.slice(2, -2).split(' | ');
      return { id: cells[0]!.split(' ')[0]!, count: ungrouped(cells[1]!), cells };
    });

/** By letter, then by number. */
const inOrder = (id: string): string => id[0] + id.slice(1).padStart(3, '0');

/**
 * The table with the rows of a run in it, in the order of their numbers. A smaller run does not replace the figures of a
 * larger one.
 */
export const merged = (before: readonly Row[], run: readonly Row[]): Row[] => {
  const rows = new Map(before.map((row) => [row.id, row]));
  for (const row of run) if (row.count >= (rows.get(row.id)?.count ?? 0)) rows.set(row.id, row);
  return [...rows.values()].sort((a, b) => inOrder(a.id).localeCompare(inOrder(b.id)));
};

export const tableOf = (rows: readonly Row[], titles: readonly string[] = heads): string =>
  [line(titles), line(titles.map(() => '---')), ...rows.map(({ cells }) => line(cells))].join('\n');
