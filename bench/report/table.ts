import type { Row } from './rows.ts';
import type { Estimate } from './statistics.ts';

const blank = '–';

/** Three digits where it matters, none where it does not. */
const figure = (value: number | null): string =>
  value === null ? blank : value < 100 ? value.toFixed(1) : value.toFixed(0);
const count = (value: number): string => Math.round(value).toLocaleString('en-US');
const percent = (share: number | null): string => (share === null ? blank : `${Math.round(share * 100)} %`);

/** @param isUnit what everything else is divided by */
const ratio = (estimate: Estimate | null, isUnit: boolean): string => {
  if (estimate === null) return isUnit ? '1' : blank;
  const { median, low, high } = estimate;
  return `${median.toFixed(2)} [${low.toFixed(2)}–${high.toFixed(2)}]`;
};

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
const columns = (lines: readonly (readonly string[])[]): string => {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  return lines.map((line) => `  ${line.map(pad).join('  ').trimEnd()}\n`).join('');
};

export interface Titled {
  readonly row: Row;
  readonly title: string;
  readonly isUnit: boolean;
  /** Its rate says nothing of the server, so the rate is a bound and has no ratio. */
  readonly isUnrated: boolean;
  /** Its own rate or its unit's is such a bound. */
  readonly isUnratable: boolean;
}

/** What all tables have. @param what is counted: `request` or `append` */
const common = (what: string, unit: string, titled: readonly Titled[]): string[][] => [
  ['', `CPU µs/${what}`, `× ${unit} [95 %]`, `${what}s/s`, `× ${unit} [95 %]`, 'server', 'load'],
  ...titled.map(({ row, title, isUnit, isUnrated, isUnratable }) => [
    title,
    figure(row.cpuMicros),
    ratio(row.cpuRatio, isUnit && row.cpuMicros !== null),
    `${isUnrated ? '≥ ' : ''}${count(row.perSecond)}`,
    isUnratable ? blank : ratio(row.rateRatio, isUnit),
    percent(row.serverShare),
    percent(row.loadShare),
  ]),
];

export const storeTable = (titled: readonly Titled[]): string => columns(common('append', 'LMDB', titled));

/** With what only makes sense where a server answers over HTTP on its main thread. */
export const httpTable = (titled: readonly Titled[]): string => {
  const [heading = [], ...lines] = common('request', 'bare', titled);
  return columns([
    [...heading, 'sleeps', 'reply B'],
    ...lines.map((line, i) => {
      const { sleepsPerRequest, replyBytes } = titled[i]!.row;
      return [...line, sleepsPerRequest?.toFixed(3) ?? blank, count(replyBytes)];
    }),
  ]);
};
