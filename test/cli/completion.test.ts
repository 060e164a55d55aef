import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { weirHere } from '../e2e/here.ts';

let dir: string;
const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];
const has = (shell: Shell): boolean => spawnSync(shell, ['--version']).status === 0;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'weir-completion-'));
  for (const shell of shells) {
    const { code, stdout, stderr } = await weirHere(['completion', shell], {});
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(join(dir, shell), stdout);
  }
  writeFileSync(join(dir, 'models.json'), '');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const run = (shell: Shell, script: string): string[] => {
  const { stdout, stderr, status } = spawnSync(shell, shell === 'zsh' ? ['-f', '-c', script] : ['-c', script], {
    cwd: dir,
    encoding: 'utf8',
  });
  if (status !== 0 || stderr !== '') throw new Error(`${shell}: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t')[0] as string)
    .toSorted();
};
const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

/** What a shell offers for the last of the words, as far as it can be asked without somebody at the keys. */
const offers: Readonly<Record<Shell, (words: readonly string[]) => string[]>> = {
  bash: (words) =>
    run(
      'bash',
      `source ./bash; COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _weir; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  // The functions that show the list are taken the place of: they print what they are given.
  zsh: (words) =>
    run(
      'zsh',
      `compdef() { :; }; _files() { print -l -- *(N); }; _describe() { print -rl -- \${(P)@[-1]} | sed 's/:.*//' | grep -e "^$PREFIX" || true; }
       source ./zsh; words=(${quoted(words)}); CURRENT=${words.length}; PREFIX='${words.at(-1)}'; _weir`,
    ),
  fish: (words) => run('fish', `source ./fish; complete -C '${words.join(' ')}'`),
};

describe.each(shells)('%s', (shell) => {
  const run = test.skipIf(!has(shell));
  const offered = (...words: string[]): string[] => offers[shell](['weir', ...words]);

  run('completes commands', () => {
    expect(offered('o')).toEqual(['oauth-client', 'org']);
    expect(offered('org', 're')).toEqual(['reactivate']);
    expect(offered('org', '')).toEqual(expect.arrayContaining(['close', 'create', 'list', 'show']));
    expect(offered('completion', '')).toEqual(expect.arrayContaining([...shells]));
  });
  run('completes the options of the command at hand, and of no other', () => {
    expect(offered('org', 'create', '--n')).toEqual(['--name']);
    expect(offered('billing', 'top-up', 'org_1', '--am')).toEqual(['--amount']);
    expect(offered('org', 'list', '--n')).toEqual([]);
    expect(offered('org', 'create', '--')).toEqual([
      '--actor',
      '--help',
      '--json',
      '--jsonl',
      '--name',
      '--output',
      '--reason',
      '--utc',
      '--wide',
    ]);
  });
  run('leaves files to the shell, after an option that takes a value and where no command fits', () => {
    const afterValue = offered('store', 'export', '--out', '');
    const asArgument = offered('model', 'check', '');
    if (shell === 'bash') {
      // By `complete -o default`, where the function has nothing.
      expect([afterValue.filter((word) => word !== ''), asArgument]).toEqual([[], ['--help', '-h']]);
    } else {
      expect(afterValue).toContain('models.json');
      expect(asArgument).toContain('models.json');
    }
  });
});

test('another shell is refused, with those that are known', async () => {
  const { code, stderr } = await weirHere(['completion', 'tcsh'], {});
  expect(code).toBe(2);
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
});
