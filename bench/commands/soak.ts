import { Command, Option } from 'commander';
import { durationBetween } from '../options.ts';
import { soakOf } from '../scenarios/soak.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

const examples = `
Examples:
  npm run bench -- soak                     ten minutes at half of what the gateway can do
  npm run bench -- soak --duration 8h       over a night; Ctrl-C ends it early and leaves the report`;

export const soakCommand = (terminal: Terminal): Command => {
  const command = new Command('soak')
    .description('Half of the full load for long: memory, drift of the latencies, event loop')
    .addOption(new Option('--duration <time>', 'of the whole').argParser(durationBetween(1, 604_800)).default(600));
  withCommon(command, { rounds: 1, seconds: 10 });
  return command
    .addHelpText('after', examples)
    .action(async (options: CommonOptions & { readonly duration: number }) => {
      await terminal.measure([soakOf(options.duration)], settingsOf(options), options);
    });
};
