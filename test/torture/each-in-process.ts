import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** How a task ended the process that did it. */
export interface Killed {
  readonly killed: string;
}

const HUNG_MS = 60_000;

/**
 * Gives each task to a process that does all of them in turn and prints a line of JSON for each, and to a new one after each that
 * it did not survive.
 * @param args the program, in TypeScript, and what it is told
 */
export async function eachInProcess<Task, Outcome>(
  args: readonly string[],
  tasks: readonly Task[],
): Promise<(Outcome | Killed)[]> {
  const outcomes: (Outcome | Killed)[] = [];
  while (outcomes.length < tasks.length) {
    const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
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
      const outcome = parse<Outcome>(line);
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
function parse<Outcome>(line: string): Outcome | undefined {
  try {
    return JSON.parse(line) as Outcome;
  } catch {
    return undefined;
  }
}
