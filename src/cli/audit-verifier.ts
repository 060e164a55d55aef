import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** Beside the sources, and beside what is built from them. */
const file = new URL('../audit/verify_export.py', import.meta.url);

/** `weir audit verifier`: a program for whoever does not believe this one. */
export const verifierCommand = (terminal: Terminal): Command =>
  new Command('verifier')
    .description(
      'Print a program in Python that verifies an export without Weir: weir audit verifier > verify_export.py',
    )
    .action(() => terminal.out(readFileSync(file, 'utf8')));
