import { program } from '../../src/cli/program.ts';
import type { Finished } from './process.ts';
import { atItsStore } from './remote-store.ts';

/** Runs a `weir` command to its end in this process, which costs nothing to start. */
export const weirHere = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  interrupted: Promise<void> = new Promise(() => {}),
): Promise<Finished> => {
  let [stdout, stderr] = ['', ''];
  const code = await program({
    argv: [...args],
    env: await atItsStore(env),
    user: 'jo',
    host: 'here',
    interrupted: () => interrupted,
    endSoon: () => {},
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
    columns: 120,
  });
  return { code, signal: null, stdout, stderr };
};
