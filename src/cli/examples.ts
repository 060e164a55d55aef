import type { Command } from 'commander';
import { inColumns } from './help-text.ts';

const texts = new WeakMap<Command, string>();

const addText = (to: Command, text: string): Command =>
  to.addHelpText('after', ({ command }) => inColumns(text, command.configureOutput().getOutHelpWidth?.() ?? 80));

/** Adds text to the end of a command's help; an example is a line that begins with two blanks and `weir`. */
export const withExamples = (command: Command, text: string): Command => {
  texts.set(command, text);
  return addText(command, text);
};

/** The examples of one command among those of its group, with their continuation lines. */
const ofCommand = (text: string, path: string): string[] => {
  const found: string[] = [];
  let isTaken = false;
  for (const line of text.split('\n')) {
    const begins = /^ {2}(?:[A-Z_]+=\S* )?(weir .*)$/.exec(line)?.[1];
    if (begins !== undefined) isTaken = begins === path || begins.startsWith(`${path} `);
    else if (!line.startsWith('   ')) isTaken = false;
    if (isTaken) found.push(line);
  }
  return found;
};

/** Adds the examples of a group to the help of its commands. */
export const shareExamples = (group: Command, path: string, inherited = ''): void => {
  const text = texts.get(group) ?? inherited;
  for (const command of group.commands) {
    const own = `${path} ${command.name()}`;
    const lines = texts.has(command) ? [] : ofCommand(text, own);
    const heads = lines.filter((line) => !line.startsWith('   ')).length;
    if (heads > 0 && command.commands.length === 0) {
      addText(command, ['', heads === 1 ? 'Example:' : 'Examples:', ...lines].join('\n'));
    }
    shareExamples(command, own, text);
  }
};
