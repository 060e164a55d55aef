import { Command, Option } from 'commander';
import { scenarioNamed, scenarios } from '../scenarios/all.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

/** Minutes of seeding and of running, for commands of their own: `run` of the million, and `soak`. */
const left = ['admin-1e6', 'zipf-1e6', 'store-1e6', 'soak'];

const examples = `
Examples:
  npm run bench -- peers                                     every bar there is, in one table
  npm run bench -- peers --only models,messages --rounds 5
  npm run bench -- peers --peer other=http://127.0.0.1:8081 --peer-key sk-… --peer-model gpt
  npm run bench -- report results/latest/result.json --readme      puts the table into bench/README.md

Left out unless --all is given, because they take long: ${left.join(', ')}.`;

const names = (text: string): readonly string[] => text.split(',').map((name) => name.trim());

export const peersCommand = (terminal: Terminal): Command => {
  const command = new Command('peers')
    .description('Every scenario with every peer that is here: all bars and their verdicts')
    .addOption(new Option('--only <list>', 'scenarios, separated by commas').argParser(names))
    .option('--all', 'also those that take long');
  withCommon(command, { rounds: 7, seconds: 2 });
  return command
    .addHelpText('after', examples)
    .action(async (options: CommonOptions & { readonly only?: readonly string[]; readonly all?: true }) => {
      const chosen =
        options.only?.map(scenarioNamed) ?? scenarios.filter(({ id }) => options.all || !left.includes(id));
      await terminal.measure(chosen, settingsOf(options), options);
    });
};
