import { formatOf, type Output } from '../table/listing.ts';
import { columnsOf, wrapped } from '../table/text-columns.ts';
import type { Terminal } from '../terminal.ts';

/** A page is never wider than this, so that it can be pasted into a report. */
const widest = 80;
const narrowest = 40;

export const widthOf = ({ columns }: Pick<Terminal, 'columns'>, options: Output): number =>
  formatOf(options) === 'wide' ? Number.POSITIVE_INFINITY : Math.max(narrowest, Math.min(widest, columns));

export type Field = readonly [label: string, text: string];

/** A title, and fields below it, two further in, with their labels in one column; ends with an end of line. */
export const sheet = (title: string, fields: readonly Field[], width: number, indent = 0): string => {
  const labels = Math.min(24, Math.max(9, ...fields.map(([label]) => label.length)));
  const margin = ' '.repeat(indent + 2);
  const lines = wrapped(title, width - indent).map((line) => `${' '.repeat(indent)}${line}`);
  for (const [label, text] of fields) {
    const [first = '', ...more] = wrapped(text, width - margin.length - labels - 2);
    // A label too long for its column has a line of its own.
    if (columnsOf(label) > labels) lines.push(`${margin}${label}`, `${margin}${' '.repeat(labels)}  ${first}`);
    else lines.push(`${margin}${label.padEnd(labels)}  ${first}`);
    lines.push(...more.map((line) => `${margin}${' '.repeat(labels)}  ${line}`));
  }
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
};
