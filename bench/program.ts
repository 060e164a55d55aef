import { Command } from 'commander';
import { calibrateCommand } from './commands/calibrate.ts';
import { compareCommand } from './commands/compare.ts';
import { gateCommand } from './commands/gate.ts';
import { microCommand } from './commands/micro.ts';
import { peersCommand } from './commands/peers.ts';
import { reportCommand } from './commands/report.ts';
import { runCommand } from './commands/run.ts';
import { saturateCommand } from './commands/saturate.ts';
import { seedCommand } from './commands/seed.ts';
import { simCommand } from './commands/sim.ts';
import { soakCommand } from './commands/soak.ts';
import type { Terminal } from './terminal.ts';

const help = `
Exit status: 0 valid and every bar met, 1 it failed, 2 bad options, 3 INVALID, 4 valid for CPU per request alone,
5 a bar was missed or the gate found a change, 130 interrupted.
Each command has --help with examples.`;

/** `npm run bench`: every command. */
export const program = (terminal: Terminal): Command => {
  const bench = new Command('bench').description(
    'Measures Weir beside its physical limits and its peers, and says what may be quoted.',
  );
  for (const make of [
    runCommand,
    saturateCommand,
    compareCommand,
    gateCommand,
    peersCommand,
    calibrateCommand,
    microCommand,
    soakCommand,
    reportCommand,
    seedCommand,
    simCommand,
  ]) {
    bench.addCommand(make(terminal));
  }
  return bench.addHelpText('after', help);
};
