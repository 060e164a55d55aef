import { expect, test } from 'vitest';
import { weirHere } from '../e2e/here.ts';

/** The commands that a help lists, but for the one that shows helps. */
const commandsIn = (help: string): string[] => {
  const list = /\nCommands:\n((?: {2,}.*\n?)+)/.exec(help)?.[1] ?? '';
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name as string);
  return names.filter((name) => name !== 'help');
};

const helpOf = async (path: readonly string[]): Promise<string> => {
  const { code, stdout } = await weirHere([...path, '--help'], {});
  expect(code).toBe(0);
  return stdout;
};

test('every command shows how it is used, with an example of its own', async () => {
  let leaves = 0;
  const visit = async (path: readonly string[]): Promise<void> => {
    const help = await helpOf(path);
    const inner = commandsIn(help);
    if (path.length > 0) {
      const examples = help.slice(help.search(/\nExamples?:\n/));
      expect(help, path.join(' ')).toMatch(/\nExamples?:\n/);
      expect(examples, path.join(' ')).toContain(`weir ${path.join(' ')}`);
      if (inner.length === 0) {
        leaves += 1;
        // Examples of other commands are for the help of the group.
        for (const [line] of examples.matchAll(/^ {2}weir .*$/gm)) expect(line).toContain(`weir ${path.join(' ')}`);
      }
    }
    for (const name of inner) await visit([...path, name]);
  };
  await visit([]);
  expect(leaves).toBeGreaterThan(25);
});
