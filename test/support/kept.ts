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

/** Longest that a step of an installation may take: the network may be slow. */
const mostMs = 180_000;

/** What `install` has put into a folder of its own for these very packages. */
const kept = async (name: string, packages: object, install: (dir: string) => Promise<void>): Promise<Kept> => {
  const pins = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 12);
  const dir = join(tmpdir(), `weir-${name}-${pins}-${userInfo().uid}`);
  // Written last: a folder without it is what an installation that was broken off has left.
  const complete = join(dir, 'complete');
  if (existsSync(complete)) return { dir };
  rmSync(dir, { recursive: true, force: true });
  try {
    await install(dir);
    writeFileSync(complete, '');
    return { dir };
  } catch (error) {
    const { killed, message, stderr = '' } = error as Error & { killed?: boolean; stderr?: string };
    if (killed) return { missing: `it took more than ${mostMs / 1000} s to install` };
    return { missing: stderr.trim().split('\n').at(-1) || message };
  }
};

/**
 * Packages of PyPI, as `name==version`, in a virtual environment; its commands are in `bin`. What is not built for this machine
 * is not built here, which would take both cores for minutes.
 */
export const fromPyPI = (name: string, packages: readonly string[]): Promise<Kept> =>
  kept(name, packages, async (dir) => {
    await run('python3', ['-m', 'venv', dir], { timeout: mostMs });
    // Modules are compiled when they are first imported: most never are.
    const options = ['--quiet', '--no-compile', '--disable-pip-version-check', '--only-binary', ':all:'];
    await run('nice', [join(dir, 'bin', 'pip'), 'install', ...options, ...packages], { timeout: mostMs });
  });

/** Packages of npm by the name to import them by; a script in the folder finds them. */
export const fromNpm = (name: string, packages: Readonly<Record<string, string>>): Promise<Kept> =>
  kept(name, packages, async (dir) => {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, dependencies: packages }));
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel', 'error'];
    await run('npm', ['install', ...options], { cwd: dir, timeout: mostMs });
  });

/** One artifact of Maven's central repository, as `group:name:version`, its jar in the folder; where there are Java and Maven. */
export const fromMaven = (artifact: string): Promise<Kept> =>
  kept(artifact.split(':')[1]!, { artifact }, async (dir) => {
    await run('java', ['-version'], { timeout: mostMs });
    mkdirSync(dir, { recursive: true });
    const options = ['-q', '-B', `-Dartifact=${artifact}`, `-DoutputDirectory=${dir}`];
    await run('mvn', ['dependency:copy', ...options], { cwd: dir, timeout: mostMs });
  });
