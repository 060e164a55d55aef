import { fileURLToPath } from 'node:url';
import type { Faults } from '../../src/embedded/faults.ts';
import { eachInProcess, type Killed } from './each-in-process.ts';

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
type Read = { readonly refused: string } | { readonly reads: Readonly<Record<string, Reading>> };
export type Outcome = Read | Killed;

const main = fileURLToPath(new URL('./reader-main.ts', import.meta.url));
/** Reads each store in a process that serves all of them in turn, and in a new one after each that it did not survive. */
export const readEach = (tasks: readonly Task[]): Promise<Outcome[]> => eachInProcess<Task, Read>([main], tasks);
