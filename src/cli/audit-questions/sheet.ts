import type { Terminal } from '../terminal.ts';

/** A page is never wider than this, so that it can be pasted into a report. */
const widest = 80;
const narrowest = 40;

export const widthOf = ({ columns }: Pick<Terminal, 'columns'>): number =>
  Math.max(narrowest, Math.min(widest, columns));

/** Characters that a terminal shows two columns wide. */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u;
const columnsOf = (text: string): number => [...text].reduce((sum, char) => sum + (wide.test(char) ? 2 : 1), 0);

/** What of a word fits into so many columns, and the rest. */
const cut = (word: string, columns: number): readonly [string, string] => {
  let head = '';
  for (const char of word) {
    if (columnsOf(head + char) > columns) break;
    head += char;
  }
  return [head, word.slice(head.length)];
};

/** A text in lines of at most so many columns, broken between words, or within one that is longer than a line. */
const wrapped = (text: string, columns: number): string[] => {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (let word of paragraph.split(' ')) {
      if (line !== '' && columnsOf(`${line} ${word}`) <= columns) {
        line += ` ${word}`;
        continue;
      }
      if (line !== '') lines.push(line);
      for (; columnsOf(word) > columns; ) {
        const [head, rest] = cut(word, columns);
        lines.push(head);
        word = rest;
      }
      line = word;
    }
    lines.push(line);
  }
  return lines;
};

export type Field = readonly [label: string, text: string];

/** A title, and fields below it, two further in, with their labels in one column; ends with an end of line. */
export const sheet = (title: string, fields: readonly Field[], width: number, indent = 0): string => {
  const labels = Math.min(24, Math.max(9, ...fields.map(([label]) => label.length)));
  const margin = ' '.repeat(indent + 2);
  const lines = wrapped(title, width - indent).map((line) => `${' '.repeat(indent)}${line}`);
  for (const [label, text] of fields) {
    const [first = '', ...more] = wrapped(text, width - margin.length - labels - 2);
    // A label too long for its column has a line of its own.
    if (label.length > labels) lines.push(`${margin}${label}`, `${margin}${' '.repeat(labels)}  ${first}`);
    else lines.push(`${margin}${label.padEnd(labels)}  ${first}`);
    lines.push(...more.map((line) => `${margin}${' '.repeat(labels)}  ${line}`));
  }
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
};
