import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { credentialMicros } from '../micro/credential.ts';
import { limitsTable } from '../micro/limits.ts';
import { cpuNanos } from '../micro/loop.ts';
import { durationBetween, wholeBetween } from '../options.ts';
import { figure } from '../report/figures.ts';
import type { Terminal } from '../terminal.ts';

const examples = `
Examples:
  npm run bench -- micro
  npm run bench -- micro --round 2s
  npm run bench -- micro --limit-rounds 0   without the rate limits, which take a minute

CPU nanoseconds per call in a tight loop, medians with a 95 % interval. Inside the server the same work costs up to
three times as much, because the caches are cold: what is quoted is the scenario, not the loop.`;

export const microCommand = (terminal: Terminal): Command =>
  new Command('micro')
    .description('Small pieces of the hot path in a tight loop')
    .addOption(
      new Option('--round <time>', 'length of one round of one piece')
        .argParser(durationBetween(0.05, 60))
        .default(0.5),
    )
    .addOption(
      new Option('--limit-rounds <n>', 'rounds of the rate limits, beside rate-limiter-flexible')
        .argParser(wholeBetween(0, 100))
        .default(5),
    )
    .addHelpText('after', examples)
    .action(async ({ round, limitRounds }: { readonly round: number; readonly limitRounds: number }) => {
      const table = new Table({ head: ['', 'CPU ns', '95 %'], style: { head: [], border: [], compact: true } });
      for (const [name, { median, low, high }] of cpuNanos(credentialMicros(), round * 1000))
        table.push([name, figure(median), `${figure(low)}–${figure(high)}`]);
      terminal.out(`${table.toString()}\n`);
      if (limitRounds > 0) terminal.out(`\n${await limitsTable(limitRounds, terminal.session)}`);
    });
