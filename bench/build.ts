import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The entry of the built Weir. */
export const builtMain = join(root, 'dist/src/main.js');
export const builtStore = join(root, 'dist/src/embedded/index.js');

/** @throws Error with what the compiler said */
export const ensureBuilt = (): void => {
  try {
    execFileSync(process.execPath, ['.build.mjs'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`Weir could not be built:\n${stdout}${stderr}`);
  }
};

/** A file of the harness and what it takes of Weir in one file, as `npm run build` makes the gateway: what is measured is what is run. */
export const bundled = (entry: URL): URL => {
  const source = fileURLToPath(entry);
  const file = join(root, 'dist/bench', `${basename(source, '.ts')}.js`);
  execFileSync(process.execPath, ['.build.mjs', source, file], { cwd: root });
  return pathToFileURL(file);
};

const mostBytes = 2 ** 28;

/** The entry of Weir as it was at a commit, with the packages that it names; null where it cannot be had. */
export const formerBuild = (commit: string): string | null => {
  const dir = join(root, 'results/builds', commit);
  const main = join(dir, 'dist/src/main.js');
  if (existsSync(main)) return main;
  try {
    const quiet = ['ignore', 'pipe', 'ignore'] as const;
    const tree = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: mostBytes, stdio: [...quiet] });
    mkdirSync(dir, { recursive: true });
    execFileSync('tar', ['-x', '-C', dir], { input: tree });
    const lockOf = (place: string): string => readFileSync(join(place, 'package-lock.json'), 'utf8');
    if (lockOf(dir) === lockOf(root)) symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
    else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: dir, stdio: [...quiet] });
    execFileSync('npm', ['run', '-s', 'build'], { cwd: dir, stdio: [...quiet] });
    return main;
  } catch {
    rmSync(dir, { recursive: true, force: true });
    return null;
  }
};
