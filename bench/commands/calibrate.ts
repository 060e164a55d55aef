import { Command } from 'commander';
import { crossCheck } from '../scenarios/cross-check.ts';
import { hello } from '../scenarios/hello.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

const examples = `
Examples:
  npm run bench -- calibrate                 is this machine quiet enough, and does the generator count right?
  npm run bench -- calibrate --rounds 15     with narrower intervals

Bare uWebSockets.js must not stray 15 % in CPU per request, nobody else may be at work, and wrk and autocannon (where
they are) must count what this generator counts.`;

export const calibrateCommand = (terminal: Terminal): Command => {
  const command = new Command('calibrate').description(
    'Check the machine and the generator before anything is believed',
  );
  withCommon(command, { rounds: 7, seconds: 2 });
  return command.addHelpText('after', examples).action(async (options: CommonOptions) => {
    await terminal.measure([hello, crossCheck], settingsOf(options), options);
  });
};
