import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Which core each side runs on; null where they cannot be told apart, with the reason for the report. */
export type Pinning =
  | { readonly server: number; readonly generator: number; readonly reason?: undefined }
  | { readonly server: null; readonly generator: null; readonly reason: string };

const taskset = 'taskset';
const setpriv = 'setpriv';

const isThere = (command: string): boolean => {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

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

/** The cores that were asked for, or the first two that this process may use. */
export const choosePinning = (wanted?: { readonly server: number; readonly generator: number }): Pinning => {
  if (!isThere(taskset)) return unpinned('there is no taskset here');
  const allowed = allowedCores();
  const { server, generator } = wanted ?? { server: allowed[0], generator: allowed[1] };
  if (server === undefined || generator === undefined) {
    return unpinned('there are no two cores that this process may use');
  }
  for (const core of [server, generator]) {
    if (!allowed.includes(core)) return unpinned(`core ${core} is not one that this process may use`);
  }
  return { server, generator };
};

let hasSetpriv: boolean | undefined;

/** The command under which another program ends with the harness, however that ends; Linux only. */
export const withHarness = (command: readonly string[]): readonly string[] => {
  hasSetpriv ??= isThere(setpriv);
  return hasSetpriv ? [setpriv, '--pdeathsig', 'KILL', ...command] : command;
};

/** The command that runs another one on a core, or the other one itself; taskset becomes it, so the pid is the same. */
export const pinned = (core: number | null, command: readonly string[]): readonly string[] =>
  core === null ? command : [taskset, '-c', `${core}`, ...command];
