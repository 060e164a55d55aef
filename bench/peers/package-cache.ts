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
  /** What is run: a file below a package of npm, or the command of one of PyPI. */
  readonly entry: string;
}

type Found = { readonly file: string } | { readonly reason: string };

interface CachedFile {
  readonly name: string;
  readonly version: string;
  readonly file: string;
  readonly install: () => Promise<unknown>;
}

/** Where packages of the bench's peers are, outside of the project, of which they are no dependencies. */
const cacheRoot = (): string => join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'weir-bench');

/** A file that is there already, or that is there once `install` has run; or the reason why it is not. */
const cached = async ({ settings, say }: Stage, { name, version, file, install }: CachedFile): Promise<Found> => {
  if (existsSync(file)) return { file };
  const root = cacheRoot();
  if (!settings.mayInstall) return { reason: `${name} skipped: it is not in ${root}, and --no-install was given` };
  say(`installing ${name} ${version} into ${root}`);
  try {
    await install();
    return { file };
  } catch {
    return { reason: `${name} skipped: ${version} of it could not be installed into ${root}` };
  }
};

/** The entry of a package of npm. */
export const cachedPackage = (stage: Stage, { name, version, entry }: CachedPackage): Promise<Found> => {
  const dir = folderOf(name, version);
  const options = ['--prefix', dir, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
  const install = () => run('npm', ['install', ...options, `${name}@${version}`], { timeout: installMs });
  return cached(stage, { name, version, file: join(dir, 'node_modules', name, entry), install });
};

/** A command of a package of PyPI, in a virtual environment of its own. */
export const cachedCommand = (stage: Stage, { name, version, entry }: CachedPackage): Promise<Found> => {
  const dir = folderOf(name, version);
  const install = async () => {
    await run('python3', ['-m', 'venv', dir]);
    const packages = ['install', '--quiet', '--disable-pip-version-check', `${name}==${version}`];
    await run(join(dir, 'bin', 'pip'), packages, { timeout: installMs });
  };
  return cached(stage, { name, version, file: join(dir, 'bin', entry), install });
};

const folderOf = (name: string, version: string): string =>
  join(cacheRoot(), `${name.replaceAll(/[@/[\]]/g, '_')}-${version}`);
