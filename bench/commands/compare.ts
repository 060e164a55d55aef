import Table from 'cli-table3';
import { Command, Option } from 'commander';
import { numberBetween } from '../options.ts';
import { compareResults } from '../report/compare.ts';
import { figure, interval } from '../report/figures.ts';
import { readResult } from '../report/read.ts';
import type { Terminal } from '../terminal.ts';

const slower = 5;

const examples = `
Examples:
  npm run bench -- compare results/before/result.json results/after/result.json
  npm run bench -- compare before.json after.json --max-cpu 1.05

Only ratios to what was measured in the same rounds are compared, with a bootstrap 95 % interval of the change.`;

export const compareCommand = (terminal: Terminal): Command =>
  new Command('compare')
    .description('What has changed between two runs, by ratios')
    .argument('<before>', 'result.json')
    .argument('<after>', 'result.json')
    .addOption(
      new Option('--max-cpu <ratio>', 'a change beyond it counts').argParser(numberBetween(1, 100)).default(1.1),
    )
    .addHelpText('after', examples)
    .action((before: string, after: string, { maxCpu }: { readonly maxCpu: number }) => {
      const changes = compareResults(readResult(before), readResult(after), maxCpu);
      if (changes.length === 0) throw new Error('The two runs have no ratio in common.');
      const table = new Table({
        head: ['scenario', '', 'before', 'after', 'change [95 %]', 'verdict'],
        style: { head: [], border: [], compact: true },
      });
      for (const each of changes)
        table.push([
          each.scenario,
          each.label,
          figure(each.before),
          figure(each.after),
          interval(each.change),
          each.verdict,
        ]);
      terminal.out(`${table.toString()}\n`);
      if (changes.some(({ verdict }) => verdict === 'slower')) terminal.exit(slower);
    });
