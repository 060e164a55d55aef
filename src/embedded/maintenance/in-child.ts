import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { maintenanceEntry } from '../entries.ts';
import { CORRUPT_SIGNALS } from '../store/check/probe.ts';
import type { ChildLine } from './report.ts';

const LOW_PRIORITY = 10;

export interface ChildEnd {
  /** Set when the signal indicates damaged files. */
  readonly killedBy?: NodeJS.Signals;
  readonly error?: string;
}

/**
 * Runs a task of child.ts in its own process.
 * @param aside runs it at low priority, and ends it when aborted
 * @throws Error when it cannot be started or is ended from outside
 */
export async function inChild(
  args: readonly string[],
  hear: (line: ChildLine) => void = () => {},
  aside?: AbortSignal,
): Promise<ChildEnd> {
  const child = spawn(process.execPath, [maintenanceEntry, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
    ...(aside && { signal: aside }),
  });
  if (aside && child.pid !== undefined) giveWay(child.pid);
  createInterface(child.stdout).on('line', (line) => hear(JSON.parse(line) as ChildLine));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4000);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit, by) => resolve([exit, by]));
  });
  if (signal !== null && CORRUPT_SIGNALS.has(signal)) return { killedBy: signal };
  if (signal !== null) throw new Error(`The process that reads the store was ended by ${signal}.`);
  if (code === 0) return {};
  return { error: /Error: (.*)/.exec(said)?.[1] ?? `it ended with status ${code}` };
}

function giveWay(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // It has ended, or the user may not.
  }
}
