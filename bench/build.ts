import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The entry of the built Weir. */
export const builtMain = join(root, 'dist/src/main.js');
export const builtStore = join(root, 'dist/src/embedded/index.js');
/** Every build writes it, also one that changes nothing else. */
const stamp = join(root, 'dist/.tsbuildinfo');

const newest = (folder: string): number =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).reduce(
    (latest, name) => Math.max(latest, statSync(join(root, folder, name)).mtimeMs),
    0,
  );

const builtAt = (): number => {
  try {
    return statSync(builtMain).mtimeMs === 0 ? 0 : statSync(stamp).mtimeMs;
  } catch {
    return 0;
  }
};

/** Builds Weir where the sources are newer than the last build. @throws Error with what the compiler said */
export const ensureBuilt = (): boolean => {
  if (builtAt() > Math.max(newest('src'), newest('projections'))) return false;
  try {
    execFileSync('npm', ['run', '-s', 'build'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`Weir could not be built:\n${stdout}${stderr}`);
  }
  return true;
};
