import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { program } from '../../src/cli/program.ts';

/** A data folder of its own, and `weir` on it within this process. */
export const workbench = () => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-cli-'));
  const env = { DATA_DIR: join(dir, 'data') };
  const weir = async (
    argv: readonly string[],
    answer?: string,
    interrupted = new Promise<void>(() => {}),
    columns = 120,
  ) => {
    let out = '';
    let err = '';
    const code = await program({
      argv,
      env,
      user: 'jo',
      host: 'here',
      interrupted: () => interrupted,
      endSoon: () => {},
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      columns,
      ...(answer !== undefined && { ask: async () => answer }),
    });
    return { code, out, err };
  };
  /** What a command prints with `--json`, parsed; it must succeed. */
  const json = async (...argv: string[]): Promise<Record<string, unknown>[]> => {
    const { code, out, err } = await weir([...argv, '--json']);
    if (code !== 0) throw new Error(err);
    return JSON.parse(out) as Record<string, unknown>[];
  };
  return { dir, env, weir, json, clean: () => rmSync(dir, { recursive: true, force: true }) };
};
