import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { credentialMicros } from '../micro/credential.ts';
import { cpuNanos } from '../micro/loop.ts';
import { ruleMicros } from '../micro/rules.ts';
import { durationBetween } from '../options.ts';
import { figure } from '../report/figures.ts';
import { limiter } from '../scenarios/limiter.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

const examples = `
Examples:
  npm run bench -- micro
  npm run bench -- micro --rounds 15

CPU per call in a tight loop, medians with a 95 % interval. Inside the server the same work costs up to three times as
much, because the caches are cold: what is quoted is the scenario, not the loop.`;

export const microCommand = (terminal: Terminal): Command => {
  const command = new Command('micro')
    .description(
      'Small pieces of the hot path in a tight loop: credentials, rules of policies, and the rate limits beside rate-limiter-flexible',
    )
    .addOption(
      new Option('--round <time>', 'length of one round of one piece of the first two')
        .argParser(durationBetween(0.05, 60))
        .default(0.5),
    );
  withCommon(command, { rounds: 5, seconds: 2 });
  return command
    .addHelpText('after', examples)
    .action(async ({ round, ...options }: CommonOptions & { readonly round: number }) => {
      const { first, each } = ruleMicros();
      const micros = [...credentialMicros(), each, first];
      const table = new Table({ head: ['', 'CPU ns', '95 %'], style: { head: [], border: [], compact: true } });
      for (const [name, { median, low, high }] of cpuNanos(micros, round * 1000))
        table.push([name, figure(median), `${figure(low)}–${figure(high)}`]);
      terminal.out(`${table.toString()}\n`);
      await terminal.measure([limiter], settingsOf(options), options);
    });
};
