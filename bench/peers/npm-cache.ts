import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Stage } from '../stage.ts';

const run = promisify(execFile);
const installMs = 300_000;

export interface CachedPackage {
  readonly name: string;
  readonly version: string;
  /** The file that is run, below the package's folder. */
  readonly entry: string;
}

/** The entry of a package outside of the project, of which it is no dependency; or the reason why there is none. */
export const cachedPackage = async (
  { settings, say }: Stage,
  { name, version, entry }: CachedPackage,
): Promise<{ readonly file: string } | { readonly reason: string }> => {
  const root = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'weir-bench');
  const dir = join(root, `${name.replaceAll(/[@/]/g, '_')}-${version}`);
  const file = join(dir, 'node_modules', name, entry);
  if (existsSync(file)) return { file };
  if (!settings.mayInstall) return { reason: `${name} skipped: it is not in ${root}, and --no-install was given` };
  say(`installing ${name} ${version} into ${dir}`);
  try {
    const args = ['install', '--prefix', dir, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', [...args, `${name}@${version}`], { timeout: installMs });
    return { file };
  } catch {
    return { reason: `${name} skipped: npm could not install ${version} of it into ${dir}` };
  }
};
