import { Help } from 'commander';

const help = new Help();
help.minWidthToWrap = 20;

const wrap = (text: string, columns: number, indent = ''): string[] =>
  help
    .boxWrap(text, columns - indent.length)
    .split('\n')
    .map((line) => indent + line);

/** Deeper than a line of its own, and than what a long command goes on with. */
const below = ' '.repeat(6);

/** A long command goes on after a backslash, so that it can be pasted; an option keeps its value. */
const brokenCommand = (command: string, columns: number): string[] => {
  const parts = command.match(/(?:-\S+ )?(?:"[^"]*"|[^\s"])+(?: (?=>))?/g) ?? [];
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)} ${part}`;
    if (lines.length > 0 && longer.length <= columns - 2) lines[lines.length - 1] = longer;
    else lines.push(lines.length === 0 ? `  ${part}` : `${below}${part}`);
  }
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
};

/** Examples with what each does beside it, or below where they have no room beside each other. */
const table = (lines: readonly string[], columns: number): string[] => {
  if (lines.every((line) => line.length <= columns)) return [...lines];
  return lines.flatMap((line) => {
    if (line.startsWith('   ')) return wrap(line.trim(), columns, below);
    const [left = '', right] = line.trim().split(/\s{2,}/);
    const first = left.length + 2 <= columns ? [`  ${left}`] : brokenCommand(left, columns);
    return right === undefined ? first : [...first, ...wrap(right, columns, below)];
  });
};

/**
 * What a help has behind its options, in as many columns as there are: paragraphs, and lines that begin with two blanks, which are
 * a table of two columns that two blanks or more part.
 */
export const inColumns = (text: string, columns: number): string => {
  const blocks: { readonly isTable: boolean; readonly lines: string[] }[] = [];
  for (const line of text.split('\n')) {
    const isTable = line.startsWith('  ');
    const before = blocks.at(-1);
    const goesOn = before?.isTable === isTable && line !== '' && before.lines.at(-1) !== '';
    if (goesOn) before.lines.push(line);
    else blocks.push({ isTable, lines: [line] });
  }
  return blocks
    .flatMap(({ isTable, lines }) => (isTable ? table(lines, columns) : wrap(lines.join(' '), columns)))
    .join('\n');
};
