import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installCompletion } from '../../src/cli/completion/install.ts';
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
  writeFileSync(join(dir, 'weir'), '#!/bin/sh\n', { mode: 0o755 });
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
    expect(offered('org', 'create', '--na')).toEqual(['--name']);
    expect(offered('billing', 'top-up', 'org_1', '--am')).toEqual(['--amount']);
    expect(offered('org', 'list', '--n')).toEqual([]);
    expect(offered('org', 'create', '--')).toEqual([
      '--actor',
      '--help',
      '--json',
      '--jsonl',
      '--name',
      '--new-store',
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
  expect(code).toBe(64);
  expect(stderr).toContain('Allowed choices are bash, zsh, fish');
});

describe('installed', () => {
  const home = (name: string) => join(dir, name);
  const install = async (shell: Shell, env: Record<string, string>, loader: boolean) =>
    installCompletion(shell, readFileSync(join(dir, shell), 'utf8'), env, loader);
  /** What a new shell of that home says. */
  const anew = (shell: Shell, HOME: string, script: string) =>
    spawnSync(shell, ['-i', '-c', script], {
      cwd: dir,
      encoding: 'utf8',
      // fish completes only what it can run.
      env: { PATH: `${dir}:${process.env.PATH}`, HOME, TERM: 'dumb' },
    }).stdout;

  test.skipIf(!has('bash'))('bash completes in each new shell, where nothing loads it by itself too', async () => {
    const HOME = home("bash's");
    mkdirSync(HOME);
    writeFileSync(join(HOME, '.bashrc'), 'alias x=y');
    const said = await install('bash', { HOME }, false);
    expect(said).toContain('.bashrc loads it');
    const loaded = readFileSync(join(HOME, '.bashrc'), 'utf8');
    expect(loaded).toMatch(/^alias x=y\n# weir completion\n\. '/);
    expect(anew('bash', HOME, 'complete -p weir')).toContain('-F _weir weir');
    await install('bash', { HOME }, false);
    expect(readFileSync(join(HOME, '.bashrc'), 'utf8')).toBe(loaded);
    const other = home('with-loader');
    await install('bash', { HOME: other }, true);
    expect(existsSync(join(other, '.local/share/bash-completion/completions/weir'))).toBe(true);
    expect(existsSync(join(other, '.bashrc'))).toBe(false);
  });
  test.skipIf(!has('zsh'))('zsh completes in each new shell', async () => {
    const HOME = home('zsh-home');
    mkdirSync(HOME);
    for (let i = 0; i < 2; i++) await install('zsh', { HOME }, false);
    expect(readFileSync(join(HOME, '.zshrc'), 'utf8').match(/# weir completion/g)).toHaveLength(1);
    expect(anew('zsh', HOME, 'print -r -- $_comps[weir]')).toContain('_weir');
  });
  test.skipIf(!has('fish'))('fish completes in each new shell', async () => {
    const HOME = home('fish-home');
    await install('fish', { HOME, XDG_CONFIG_HOME: '' }, false);
    expect(anew('fish', HOME, "complete -C 'weir org re'")).toContain('reactivate');
  });
  test('by the command itself, for the shell of the user', async () => {
    const HOME = home('by-command');
    const done = await weirHere(['completion', '--install'], { HOME, SHELL: '/usr/bin/fish' });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(HOME, '.config/fish/completions/weir.fish'), 'utf8')).toBe(
      readFileSync(join(dir, 'fish'), 'utf8'),
    );
  });
  test.each([
    [['completion'], {}, 64, /^Name a shell, bash, zsh, fish, or say --install\.\n$/],
    [['completion', '--install'], { SHELL: '/bin/dash' }, 1, /^Say for which shell: weir completion bash\|zsh\|fish/],
    [['completion', 'fish', '--install'], { HOME: '/dev/null' }, 1, /^\/dev\/null\S+ cannot be written: [^\n]+\.\n$/],
  ])('%j with %j ends with %i', async (argv, env, code, stderr) => {
    expect(await weirHere(argv, env)).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(stderr) });
  });
});
