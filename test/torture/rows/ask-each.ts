import { fileURLToPath } from 'node:url';
import { eachInProcess } from '../each-in-process.ts';
import type { Answers } from './rows-world.ts';

export interface Task {
  readonly dir: string;
  readonly what: 'models' | 'unprotected' | 'reactors';
  /** Done to the file while it is open. */
  readonly flip?: { readonly at: number; readonly bit: number } | undefined;
}

export type Outcome =
  | { readonly told: readonly string[]; readonly rounds: Readonly<Record<string, Answers>> }
  /** Positions of the events that a reactor was given. */
  | { readonly told: readonly string[]; readonly seen: readonly number[] }
  | { readonly refused: string };

const main = fileURLToPath(new URL('./rows-main.ts', import.meta.url));

/** @param world the file that has what happened, and what is asked */
export const askEach = (world: string, tasks: readonly Task[]) => eachInProcess<Task, Outcome>([main, world], tasks);
