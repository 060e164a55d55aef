import { Help } from 'commander';

const help = new Help();
help.minWidthToWrap = 20;

const wrap = (text: string, columns: number, indent = ''): string[] =>
  help
    .boxWrap(text, columns - indent.length)
    .split('\n')
    .map((line) => indent + line);

/** Indents more than a continuation line of an example. */
const below = ' '.repeat(6);

/** Wraps a long command with backslashes, so that it can be pasted; an option keeps its value. */
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

/** Examples with their descriptions beside them, or below if the lines are too long. */
const table = (lines: readonly string[], columns: number): string[] => {
  if (lines.every((line) => line.length <= columns)) return [...lines];
  return lines.flatMap((line) => {
    if (line.startsWith('   ')) return wrap(line.trim(), columns, below);
    const [left = '', right] = line.trim().split(/\s{2,}/);
    const first = left.length + 2 <= columns ? [`  ${left}`] : brokenCommand(left, columns);
    return right === undefined ? first : [...first, ...wrap(right, columns, below)];
  });
};

/** Wraps text for a help: paragraphs, and two-column tables, whose lines begin with two blanks and have two between columns. */
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
