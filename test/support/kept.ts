import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Tools and clients of others, installed once from their registries and kept for the next run. */

const run = promisify(execFile);

/** Where it is, or why it cannot be had: no Python, one that is too old, no network. */
export type Kept = { readonly dir: string } | { readonly missing: string };

/** What `timeout` ends with where it had to end its command. */
const tookTooLong = 124;

/** What `install` has put into a folder of its own for these very packages. */
const kept = async (name: string, packages: object, install: (dir: string) => Promise<void>): Promise<Kept> => {
  const pins = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12);
  const dir = join(tmpdir(), `weir-${name}-${pins}-${userInfo().uid}`);
  // Written last: a folder without it is what an installation that was broken off has left.
  const complete = join(dir, 'complete');
  if (existsSync(complete)) return { dir };
  // It would take too long again.
  const late = join(dir, 'late');
  const tooLate = { missing: `it took too long to install; without ${dir} it is tried again` };
  if (existsSync(late)) return tooLate;
  rmSync(dir, { recursive: true, force: true });
  try {
    await install(dir);
    writeFileSync(complete, '');
    return { dir };
  } catch (error) {
    const { code, message, stderr = '' } = error as Error & { code?: unknown; stderr?: string };
    if (code !== tookTooLong) return { missing: stderr.trim().split('\n').at(-1) || message };
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    writeFileSync(late, '');
    return tooLate;
  }
};

/**
 * Packages of PyPI, as `name==version`, in a virtual environment; its commands are in `bin`.
 * @param seconds that it may take; some are built first, by processes that end with it
 */
export const fromPyPI = (name: string, packages: readonly string[], seconds = 180): Promise<Kept> =>
  kept(name, packages, async (dir) => {
    await run('python3', ['-m', 'venv', dir]);
    // Modules are compiled when they are first imported: most never are.
    const options = ['--quiet', '--no-compile', '--disable-pip-version-check'];
    const pip = [join(dir, 'bin', 'pip'), 'install', ...options, ...packages];
    await run('timeout', [String(seconds), 'nice', ...pip]);
  });

/** Packages of npm by the name to import them by; a script in the folder finds them. */
export const fromNpm = (name: string, packages: Readonly<Record<string, string>>): Promise<Kept> =>
  kept(name, packages, async (dir) => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel', 'error'];
    await run('npm', ['install', ...options], { cwd: dir, timeout: 120_000 });
  });
