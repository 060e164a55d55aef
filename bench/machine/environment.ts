import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Where and of what a result was measured. */
export interface Environment {
  readonly commit: string | null;
  /** Whether the working tree differs from the commit; null where it cannot be told. */
  readonly modified: boolean | null;
  readonly node: string;
  readonly platform: string;
  readonly kernel: string;
  readonly cpu: string;
  readonly cores: number;
  readonly governor: string | null;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Takes no lock, so that it disturbs nobody who works with the repository. */
const git = (...args: readonly string[]): string | null => {
  try {
    return execFileSync('git', ['--no-optional-locks', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
};

const governor = (): string | null => {
  try {
    return readFileSync('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor', 'latin1').trim();
  } catch {
    return null;
  }
};

export const environment = (): Environment => {
  const changes = git('status', '--porcelain');
  return {
    commit: git('rev-parse', 'HEAD'),
    modified: changes === null ? null : changes !== '',
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    kernel: release(),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    governor: governor(),
  };
};

const tmpfs = 0x01021994;
const ramfs = 0x858458f6;

/** Whether files in the folder never reach a disk. */
export const isInMemory = (dir: string): boolean => [tmpfs, ramfs].includes(statfsSync(dir).type);
