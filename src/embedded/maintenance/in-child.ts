import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { runChild } from '../run-child.ts';
import type { ChildLine } from './report.ts';

const LOW_PRIORITY = 10;

/**
 * Runs a task of child.ts in its own process.
 * @param aside runs it at low priority, and ends it when aborted
 * @returns the signal by which damaged files killed it, or its error
 * @throws Error when it cannot be started or is ended from outside
 */
export async function inChild(
  args: readonly string[],
  onLine: (line: ChildLine) => void = () => {},
  aside?: AbortSignal,
): Promise<{ readonly killedBy?: NodeJS.Signals; readonly error?: string }> {
  const { code, signal, killedBy, error } = await runChild(
    'maintenance',
    args,
    (child) => {
      if (aside && child.pid !== undefined) giveWay(child.pid);
      createInterface(child.stdout).on('line', (line) => onLine(JSON.parse(line) as ChildLine));
    },
    aside,
  );
  if (killedBy !== undefined) return { killedBy };
  if (signal !== null) throw new Error(`The process that reads the store was ended by ${signal}.`);
  return code === 0 ? {} : { error: error ?? `it ended with status ${code}` };
}

function giveWay(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // It has ended, or the user may not.
  }
}
