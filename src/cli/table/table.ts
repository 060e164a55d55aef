import { columnsOf, isWhole, wrapped } from './text-columns.ts';

/** A column of printable texts. */
export interface TextColumn {
  readonly head: string;
  readonly cells: readonly string[];
  readonly align?: 'right';
  readonly wraps: boolean;
}

const gap = '  ';
/** Least width of a wrapped column. */
const narrowest = 12;
/** With fewer columns, rows are shown as records. */
const fewest = 2;

const widest = (texts: readonly string[]): number => texts.reduce((most, text) => Math.max(most, columnsOf(text)), 0);

/** Width in full, and the least possible width. */
const needsOf = ({ head, cells, wraps }: TextColumn): { readonly full: number; readonly least: number } => {
  const full = Math.max(columnsOf(head), widest(cells));
  if (!wraps) return { full, least: full };
  const ids = cells.flatMap((cell) => cell.split(/[ \n]/).filter(isWhole));
  return { full, least: Math.max(columnsOf(head), Math.min(full, narrowest), widest(ids)) };
};

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
const gapsOf = (columns: number): number => gap.length * (columns - 1);

/** Distributes the free width, one by one, to the narrowest column that needs more. */
const widthsOf = (needs: readonly ReturnType<typeof needsOf>[], room: number): readonly number[] => {
  const widths = needs.map(({ least }) => least);
  for (let left = room - sum(widths); left > 0; left--) {
    const narrow = widths.flatMap((width, i) => (width < needs[i]!.full ? [i] : []));
    if (narrow.length === 0) break;
    widths[narrow.reduce((a, b) => (widths[b]! < widths[a]! ? b : a))]! += 1;
  }
  return widths;
};

/** Kept, so that later rows have the same columns. */
export interface Layout {
  readonly columns: number;
  readonly widths: readonly number[];
}

/**
 * Drops columns at the end until the rest fits; null if not even two fit.
 * @param width of the terminal; null for unlimited
 * @param fills whether text columns share all free width, for later rows
 */
export const layoutOf = (columns: readonly TextColumn[], width: number | null, fills = false): Layout | null => {
  const needs = columns.map((column) => {
    const { full, least } = needsOf(column);
    return { full: fills && column.wraps ? Number.POSITIVE_INFINITY : full, least };
  });
  if (width === null) return { columns: columns.length, widths: columns.map((column) => needsOf(column).full) };
  for (let count = columns.length; count >= Math.min(fewest, columns.length); count--) {
    const room = width - gapsOf(count);
    const taken = needs.slice(0, count);
    if (sum(taken.map(({ least }) => least)) <= room) return { columns: count, widths: widthsOf(taken, room) };
  }
  return null;
};

const padded = (text: string, width: number, align: TextColumn['align']): string => {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)));
  return align === 'right' ? space + text : text + space;
};

const rowOf = (cells: readonly string[], columns: readonly TextColumn[], { widths }: Layout): string[] => {
  const lines = cells.map((cell, i) => (columns[i]!.wraps ? wrapped(cell, widths[i]!) : [cell]));
  const height = Math.max(...lines.map((each) => each.length));
  return Array.from({ length: height }, (_, line) =>
    lines
      .map((each, i) => padded(each[line] ?? '', widths[i]!, columns[i]!.align))
      .join(gap)
      .trimEnd(),
  );
};

/** The rows of a table, with a line of heads if wanted; ends with a newline. */
export const tableOf = (columns: readonly TextColumn[], layout: Layout, withHeads: boolean): string => {
  const shown = columns.slice(0, layout.columns);
  const rows = Array.from({ length: shown[0]?.cells.length ?? 0 }, (_, row) => shown.map(({ cells }) => cells[row]!));
  const lines = rows.flatMap((cells) => rowOf(cells, shown, layout));
  const heads = withHeads
    ? rowOf(
        shown.map(({ head }) => head),
        shown,
        layout,
      )
    : [];
  return [...heads, ...lines].map((line) => `${line}\n`).join('');
};

/** One row as a list of its fields, which fits any width: long values are wrapped beside their label. */
export const recordOf = (columns: readonly TextColumn[], row: number, width: number | null): string => {
  const label = widest(columns.map(({ head }) => head));
  const margin = ' '.repeat(label + gap.length);
  const room = width === null ? Number.POSITIVE_INFINITY : Math.max(narrowest, width - margin.length);
  return columns
    .map(({ head, cells, wraps }) => {
      const lines = wraps ? wrapped(cells[row]!, room) : [cells[row]!];
      return `${padded(head, label, undefined)}${gap}${lines.join(`\n${margin}`)}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join('');
};
