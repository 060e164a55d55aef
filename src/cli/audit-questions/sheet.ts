import { formatOf, type Output } from '../table/listing.ts';
import { columnsOf, wrapped } from '../table/text-columns.ts';
import type { Terminal } from '../terminal.ts';

/** Narrow enough for a report. */
const widest = 80;
const narrowest = 40;

export const widthOf = ({ columns }: Pick<Terminal, 'columns'>, options: Output): number =>
  formatOf(options) === 'wide' ? Number.POSITIVE_INFINITY : Math.max(narrowest, Math.min(widest, columns));

export type Field = readonly [label: string, text: string];

/** A title, and below it fields with their labels in one column, indented by two. Ends with a newline. */
export const sheet = (title: string, fields: readonly Field[], width: number, indent = 0): string => {
  const labels = Math.min(24, Math.max(9, ...fields.map(([label]) => label.length)));
  const margin = ' '.repeat(indent + 2);
  const lines = wrapped(title, width - indent).map((line) => `${' '.repeat(indent)}${line}`);
  for (const [label, text] of fields) {
    const [first = '', ...more] = wrapped(text, width - margin.length - labels - 2);
    // A label wider than its column has its own line.
    if (columnsOf(label) > labels) lines.push(`${margin}${label}`, `${margin}${' '.repeat(labels)}  ${first}`);
    else lines.push(`${margin}${label.padEnd(labels)}  ${first}`);
    lines.push(...more.map((line) => `${margin}${' '.repeat(labels)}  ${line}`));
  }
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
};
