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

/** `weir --help`, and that of every command. */
const helpsAt = async (columns: number): Promise<string[]> => {
  const { weir, clean } = workbench();
  const of = async (path: readonly string[]): Promise<string[]> => {
    const { out, code } = await weir([...path, '--help'], undefined, undefined, columns);
    expect(code).toBe(0);
    const inner = await Promise.all(commandsIn(out).map((name) => of([...path, name])));
    return [out, ...inner.flat()];
  };
  return of([]).finally(clean);
};

test.each([72, 80, 200])('every help fits a terminal of %d columns, its examples too', async (columns) => {
  const helps = await helpsAt(columns);
  expect(helps.length).toBeGreaterThan(40);
  const lines = helps.flatMap((help) => help.split('\n'));
  expect(lines.filter((line) => line.length > columns && !line.startsWith('Usage:'))).toEqual([]);
});

test('an example that has no room is broken so that it can be pasted, and what it does stands below', async () => {
  const { weir, clean } = workbench();
  const { out } = await weir(['oauth-client', 'create', '--help'], undefined, undefined, 80);
  expect(out.slice(out.indexOf('Example:'))).toBe(
    [
      'Example:',
      '  weir oauth-client create org_01jd… --name "provisioning" \\',
      '      --permissions "projects:read projects:write"',
      "      prints the client's id and its secret, once",
      '',
    ].join('\n'),
  );
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
