import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** Relative to both the sources and the build. */
const file = new URL('../audit/verify_export.py', import.meta.url);

export const verifierCommand = (terminal: Terminal): Command =>
  new Command('verifier')
    .description(
      'Print a program in Python that verifies an export without Weir: weir audit verifier > verify_export.py',
    )
    .action(() => terminal.out(readFileSync(file, 'utf8')));
