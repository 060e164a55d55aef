import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileFault } from '../../folder.ts';
import { Failure } from '../../process/failure.ts';
import { quoted, type Shell } from './completion-scripts.ts';

/** The script's path, and the lines for the shell's start file if the shell does not search that path. */
interface Place {
  readonly script: string;
  readonly startFile?: { readonly path: string; readonly lines: string };
}

/** bash-completion on Debian, Fedora and Homebrew: it loads the scripts in its folder. */
const bashCompletion = [
  '/usr/share/bash-completion/bash_completion',
  '/usr/local/share/bash-completion/bash_completion',
  '/opt/homebrew/share/bash-completion/bash_completion',
];

/** @param loader whether bash-completion is installed */
const placeOf = (shell: Shell, env: NodeJS.ProcessEnv, loader: boolean): Place => {
  const home = env.HOME || homedir();
  const data = env.XDG_DATA_HOME || join(home, '.local', 'share');
  if (shell === 'fish') {
    return { script: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'fish', 'completions', 'weir.fish') };
  }
  if (shell === 'bash') {
    const script = join(data, 'bash-completion', 'completions', 'weir');
    return loader ? { script } : { script, startFile: { path: join(home, '.bashrc'), lines: `. ${quoted(script)}\n` } };
  }
  const script = join(data, 'weir', 'completion.zsh');
  const begin = '(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }';
  const path = join(env.ZDOTDIR || home, '.zshrc');
  return { script, startFile: { path, lines: `${begin}\nsource ${quoted(script)}\n` } };
};

/** The given shell, or that of the user. @throws Failure if unknown */
export const shellOf = (named: Shell | undefined, env: NodeJS.ProcessEnv, known: readonly Shell[]): Shell => {
  const own = (env.SHELL ?? '').split('/').at(-1);
  const shell = named ?? known.find((each) => each === own);
  if (shell === undefined) throw new Failure(`Say for which shell: weir completion ${known.join('|')} --install.`);
  return shell;
};

/** Installs the script; idempotent. @returns a sentence for the user @throws Failure if a file cannot be written */
export const installCompletion = async (
  shell: Shell,
  text: string,
  env: NodeJS.ProcessEnv,
  loader = bashCompletion.some((path) => existsSync(path)),
): Promise<string> => {
  const { script, startFile } = placeOf(shell, env, loader);
  await writing(script, async () => {
    await mkdir(dirname(script), { recursive: true });
    await writeFile(script, text, { mode: 0o644 });
  });
  const said = [`${shell} completes weir by ${script}.`];
  if (startFile !== undefined) {
    const { path, lines } = startFile;
    const before = await readFile(path, 'utf8').catch(() => '');
    if (!before.includes(lines)) {
      const gap = before === '' || before.endsWith('\n') ? '' : '\n';
      await writing(path, () => appendFile(path, `${gap}# weir completion\n${lines}`));
      said.push(`${path} loads it.`);
    }
  }
  return `${said.join(' ')} It holds for every shell that is opened from now on.\n`;
};

const writing = async (path: string, write: () => Promise<void>): Promise<void> => {
  try {
    await write();
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${fileFault(error) ?? (error as Error).message}.`, 1, error);
  }
};
