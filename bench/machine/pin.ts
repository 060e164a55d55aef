import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Which core each side runs on; null where they cannot be told apart, with the reason for the report. */
export type Pinning =
  | { readonly server: number; readonly generator: number; readonly reason?: undefined }
  | { readonly server: null; readonly generator: null; readonly reason: string };

const taskset = 'taskset';

/** `0-3,8` as numbers. */
export const coresOf = (list: string): number[] =>
  [...list.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first, last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );

/** Empty where it cannot be told. */
const allowedCores = (): number[] => {
  try {
    const status = readFileSync('/proc/self/status', 'latin1');
    return coresOf(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? '');
  } catch {
    return [];
  }
};

const unpinned = (reason: string): Pinning => ({ server: null, generator: null, reason });

/** The first two cores that this process may use. */
export const choosePinning = (): Pinning => {
  try {
    execFileSync(taskset, ['-V'], { stdio: 'ignore' });
  } catch {
    return unpinned('there is no taskset here');
  }
  const [server, generator] = allowedCores();
  return server === undefined || generator === undefined
    ? unpinned('there are no two cores that this process may use')
    : { server, generator };
};

/** The command that runs another one on a core, or the other one itself; taskset becomes it, so the pid is the same. */
export const pinned = (core: number | null, command: readonly string[]): readonly string[] =>
  core === null ? command : [taskset, '-c', `${core}`, ...command];
