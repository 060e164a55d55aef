import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Faults } from '../../src/embedded/faults.ts';

export interface Task {
  readonly dir: string;
  readonly streams: readonly string[];
  /** Opened without lock and checks of the file, for canaries. */
  readonly faults?: Faults | undefined;
}

interface Shown {
  readonly id: string;
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly type: string;
  readonly hash: string;
  readonly created: number;
}

export interface Reading {
  readonly events: readonly { readonly event: Shown | null; readonly link: Shown | null }[];
  readonly error?: string;
}

/** Why a store did not open, what every way of reading it gave, or how it ended the process. */
export type Outcome =
  | { readonly refused: string }
  | { readonly reads: Readonly<Record<string, Reading>> }
  | { readonly killed: string };

const main = fileURLToPath(new URL('./reader-main.ts', import.meta.url));
const HUNG_MS = 60_000;

/** Reads each store in a process that serves all of them in turn, and in a new one after each that it did not survive. */
export async function readEach(tasks: readonly Task[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.length < tasks.length) {
    const child = spawn(process.execPath, ['--import', 'tsx', main], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    let hung = false;
    const kill = () => {
      hung = true;
      child.kill('SIGKILL');
    };
    let timer = setTimeout(kill, HUNG_MS);
    child.stdin.on('error', () => {});
    createInterface(child.stdout).on('line', (line) => {
      clearTimeout(timer);
      timer = setTimeout(kill, HUNG_MS);
      const outcome = parse(line);
      if (outcome !== undefined) outcomes.push(outcome);
    });
    for (const task of tasks.slice(outcomes.length)) child.stdin.write(`${JSON.stringify(task)}\n`);
    child.stdin.end();
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
      child.once('close', (exit, by) => resolve([exit, by])),
    );
    clearTimeout(timer);
    if (code !== 0) outcomes.push({ killed: hung ? 'it hangs' : (signal ?? `status ${code}`) });
  }
  return outcomes;
}

/** undefined for half a line, the last words of a process that died. */
function parse(line: string): Outcome | undefined {
  try {
    return JSON.parse(line) as Outcome;
  } catch {
    return undefined;
  }
}
