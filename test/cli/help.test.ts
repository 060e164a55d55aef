import { expect, test } from 'vitest';
import { weirHere } from '../e2e/here.ts';
import { workbench } from './run.ts';

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

test('a help fits a terminal of 60 columns, but for examples', async () => {
  const { weir, clean } = workbench();
  for (const path of [[], ['key'], ['key', 'create'], ['usage']]) {
    const { out, code } = await weir([...path, '--help'], undefined, undefined, 60);
    expect(code).toBe(0);
    const [help = '', variables = ''] = out.split(/\n(?:Examples?|Environment):\n/);
    const lines = `${help}\n${path.length === 0 ? variables : ''}`
      .split('\n')
      .filter((line) => !line.startsWith('Exit status'));
    expect(lines.filter((line) => line.length > 60 && !/^(Usage|What status)/.test(line))).toEqual([]);
  }
  clean();
});

test.each([
  [['nosuch'], "error: unknown command 'nosuch'", 'weir --help lists the commands.'],
  [
    ['key', 'create'],
    "error: required option '--name <name>' not specified",
    'weir key create --help says how it is used.',
  ],
  [['usage', '--fom', 'x'], "error: unknown option '--fom'", 'weir usage --help says how it is used.'],
])('%j is refused with 64, and says where help is', async (argv, why, next) => {
  const { weir, clean } = workbench();
  const { code, err } = await weir(argv);
  expect(code).toBe(64);
  const lines = err.trimEnd().split('\n');
  expect([lines[0], lines.at(-1)]).toEqual([why, next]);
  clean();
});
