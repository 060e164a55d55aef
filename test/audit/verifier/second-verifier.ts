import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const program = fileURLToPath(new URL('../../../src/audit/verify_export.py', import.meta.url));
const python = (args: readonly string[], input = '') =>
  spawnSync('python3', args, { input, encoding: 'utf8', timeout: 3_600_000, maxBuffer: 2 ** 30 });

/** Without Python (3.8 or later) there is nobody to ask. */
export const hasPython = python(['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0;

/** What the second verifier is asked: a file, verifier keys, files with checkpoints. */
export interface Question {
  readonly export: string;
  readonly pubs: readonly string[];
  readonly against: readonly string[];
  /** Seconds; by default the present. */
  readonly now?: number;
}

export interface Judgement {
  /** 3: the file is no export, or what to compare it with holds no checkpoint; the remark says so. */
  readonly status: 0 | 1 | 2 | 3;
  readonly findings: readonly { readonly class: string; readonly at: string; readonly detail: string }[];
  readonly lacking: readonly string[];
  /** What the proof does not say. */
  readonly remarks: readonly string[];
}

/** The exit status of the program in a file, and what it says. */
export const asked = (file: string, ...args: string[]) => {
  const { status, stdout, stderr } = python([file, ...args]);
  return { status, stdout, stderr };
};

/** Asks one process all of it. */
export const judged = (questions: readonly Question[]): Judgement[] => {
  const input = questions.map((question) => `${JSON.stringify(question)}\n`).join('');
  const { stdout, stderr } = python([program, '-'], input);
  if (stderr !== '') throw new Error(stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Judgement);
};
