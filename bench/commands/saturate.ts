import { Command, Option } from 'commander';
import { type LoadName, type LoadOptions, loadNames, openLoad } from '../load.ts';
import { type Demand, durationBetween, numberBetween, oneOf, share, slo } from '../options.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { sweep } from '../scenarios/sweep.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';
import { loadOf, type OwnLoad, withLoad } from './run.ts';

interface SaturateOptions extends CommonOptions, OwnLoad {
  readonly slo: readonly Demand[];
  readonly start: number;
  readonly step: number;
  readonly refine: number;
  readonly stepSeconds: number;
}

const examples = `
Examples:
  npm run bench -- saturate models
  npm run bench -- saturate messages --slo "p99<50ms,err<0.1%" --start 500 --step 1.5
  npm run bench -- saturate models --url http://127.0.0.1:8080 --key gwp_… --start 10 --step 1.2

The rate is raised step by step, with Poisson arrivals, until a demand is missed; where the first rate misses one, it is
lowered until all are held. The knee is then narrowed down. A run in which no rate held is INVALID, exit status 3.`;

const saturation = (load: LoadOptions, name: string, options: SaturateOptions): Scenario => ({
  id: 'saturate',
  title: `${name}: how much it takes before it is late`,
  about: [`Open loop, each rate for ${options.stepSeconds} s; latencies count from the intended time.`],
  isElsewhere: load.at !== null,
  run: async (stage) => sweep(stage, await openLoad(stage, load), options),
});

export const saturateCommand = (terminal: Terminal): Command => {
  const command = new Command('saturate')
    .description('Find the highest rate that holds its demands: rate against latency, with the knee')
    .argument('<load>', loadNames.join(', '), oneOf(...loadNames))
    .addOption(
      new Option('--slo <demands>', 'what a rate must hold')
        .argParser(slo)
        .default(slo('p99<5ms,err<0.1%'), 'p99<5ms,err<0.1%'),
    )
    .addOption(new Option('--start <rate>', 'the first rate').argParser(numberBetween(0.1, 1_000_000)).default(2000))
    .addOption(
      new Option('--step <factor>', 'from one rate to the next').argParser(numberBetween(1.01, 10)).default(1.25),
    )
    .addOption(new Option('--refine <share>', 'how closely the knee is found').argParser(share).default(0.03, '3%'))
    .addOption(
      new Option('--step-seconds <time>', 'how long each rate is held')
        .argParser(durationBetween(0.2, 3600))
        .default(5),
    );
  withCommon(withLoad(command), { rounds: 1, seconds: 5 });
  return command.addHelpText('after', examples).action(async (name: LoadName, options: SaturateOptions) => {
    const load = loadOf(name, { ...options, rate: options.start, arrivals: 'poisson' }, options.conns);
    await terminal.measure([saturation(load, name, options)], settingsOf(options), options);
  });
};
