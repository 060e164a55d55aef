import { Command, Option } from 'commander';
import { readKeys } from '../gen/requests.ts';
import { type LoadName, type LoadOptions, loadNames, openLoad } from '../load.ts';
import { measureRounds } from '../measure.ts';
import {
  type ArrivalOptions,
  arrivalKinds,
  arrivalsOf,
  durationBetween,
  httpUrl,
  numberBetween,
  oneOf,
  share,
  type TierMix,
  tierMix,
  wholeBetween,
} from '../options.ts';
import { scenarioNamed, scenarios } from '../scenarios/all.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

/** What makes a load of one's own. */
export interface OwnLoad extends Partial<ArrivalOptions> {
  readonly duration?: number;
  readonly keys?: number;
  readonly zipf: number;
  readonly tiers?: TierMix;
  readonly stream: number;
  readonly body: number;
  readonly maxTokens: number;
  readonly timeout: number;
  readonly url?: URL;
  readonly key?: string;
  readonly keysFile?: string;
  readonly model: string;
  readonly pid?: number;
}

const million = 1_000_000;

/** The options of a load of one's own. */
export const withLoad = (command: Command): Command =>
  command
    .addOption(
      new Option('--keys <n>', 'keys that are made for it, four an organization (default: 12000)').argParser(
        wholeBetween(1, 2 * million),
      ),
    )
    .addOption(
      new Option('--zipf <s>', "exponent of Zipf's law over the keys; 0 takes all alike")
        .argParser(numberBetween(0, 3))
        .default(0),
    )
    .addOption(
      new Option('--tiers <mix>', 'tiers of their organizations, free:90,t1:8,t5:2 (default: t5:1)').argParser(tierMix),
    )
    .addOption(new Option('--stream <share>', 'share of the messages that are streamed').argParser(share).default(0))
    .addOption(
      new Option('--body <bytes>', 'size of a message').argParser(wholeBetween(100, 16 * million)).default(600),
    )
    .addOption(
      new Option('--max-tokens <n>', 'that a message asks for').argParser(wholeBetween(1, 999_990)).default(64),
    )
    .addOption(
      new Option('--timeout <time>', 'after which a request is given up')
        .argParser(durationBetween(0.1, 600))
        .default(30),
    )
    .addOption(
      new Option('--url <address>', 'a gateway that runs already, instead of one that is started').argParser(httpUrl),
    )
    .option('--key <key>', 'the project key to use there')
    .option(
      '--keys-file <file>',
      'many of them: a key or a JSON object with its value a line, as bench seed writes them',
    )
    .option('--model <id>', 'the model that messages name there', 'weir-sim-1')
    .addOption(
      new Option('--pid <pid>', 'its process, where it runs on this machine: for CPU per request').argParser(
        wholeBetween(1, 2 ** 22),
      ),
    );

/** @throws Error in a sentence, where options do not fit each other */
export const loadOf = (name: LoadName, own: OwnLoad, conns: number): LoadOptions => {
  const { url, key, keysFile, tiers = [{ tier: 5, weight: 1 }], duration = 30 } = own;
  const needsKey = url !== undefined && name !== 'hello';
  if (needsKey && key === undefined && keysFile === undefined) throw new Error('--url needs --key or --keys-file.');
  // Read here, so that a wrong file is found before anything starts.
  if (keysFile !== undefined) readKeys(keysFile);
  const keys = keysFile === undefined ? (key === undefined ? [] : [key]) : { file: keysFile };
  return {
    load: name,
    arrivals: arrivalsOf({ ...own, duration }),
    connections: conns,
    keys: own.keys ?? 12_000,
    zipf: own.zipf,
    tiers,
    stream: own.stream,
    bodyBytes: own.body,
    maxTokens: own.maxTokens,
    timeoutMs: own.timeout * 1000,
    at: url === undefined ? null : { url, keys: { keys, zipf: own.zipf }, model: own.model, pid: own.pid ?? null },
  };
};

const own = (options: OwnLoad): boolean =>
  ['rate', 'arrivals', 'trace', 'duration', 'keys', 'tiers', 'url'].some(
    (name) => options[name as keyof OwnLoad] !== undefined,
  );

const describe = (load: LoadOptions, duration: number): string => {
  const { arrivals, connections } = load;
  const rate = 'rate' in arrivals ? ` at ${arrivals.rate}/s` : '';
  return `${arrivals.is}${rate} over ${connections} connections for ${duration} s`;
};

const ownScenario = (name: LoadName, options: OwnLoad & CommonOptions): Scenario => {
  const { duration = 30 } = options;
  const load = loadOf(name, options, options.conns);
  return {
    id: name,
    title: `${name}: ${describe(load, duration)}`,
    about: [
      load.at ? `Against ${load.at.url.origin}.` : 'Against a gateway that the bench has started, on this machine.',
    ],
    isElsewhere: load.at !== null,
    async run(stage) {
      const contender = await openLoad(stage, load);
      const rounds = { rounds: 1, seconds: duration, warmUpSeconds: options.warmup };
      return { ...(await measureRounds(stage, [contender], rounds)), rounds: null };
    },
  };
};

const examples = `
Examples:
  npm run bench -- run models                     a scenario: what it asserts, beside its peers
  npm run bench -- run models window-truth        two of them
  npm run bench -- run models --rate 20000 --duration 30s                      a load of your own, open loop
  npm run bench -- run messages --stream 0.5 --rate 200 --arrivals burst --burst 20 --keys 100000 --zipf 1.0
  npm run bench -- run messages --url https://gateway.example --key gwp_… --model claude --rate 5 --duration 60s

Scenarios: ${scenarios.map(({ id }) => id).join(', ')}
With an option of a load of your own (--rate, --arrivals, --trace, --duration, --keys, --tiers, --url): ${loadNames.join(', ')}`;

export const runCommand = (terminal: Terminal): Command => {
  const command = new Command('run')
    .description('Measure scenarios with their assertions, or put a load of your own on a gateway')
    .argument('<scenario...>', 'one or several')
    .addOption(new Option('--rate <n>', 'requests per second: an open loop').argParser(numberBetween(0.01, million)))
    .addOption(
      new Option('--arrivals <law>', `${arrivalKinds.join(', ')} (default: closed, with --rate poisson)`).argParser(
        oneOf(...arrivalKinds),
      ),
    )
    .addOption(new Option('--burst <n>', 'requests of a burst').argParser(wholeBetween(1, million)))
    .addOption(new Option('--to <rate>', 'the rate at the end of a ramp').argParser(numberBetween(0.01, million)))
    .option('--trace <file>', 'times of requests, seconds, one a line')
    .addOption(
      new Option('--duration <time>', 'of a load of your own (default: 30s)').argParser(durationBetween(0.2, 86_400)),
    );
  withCommon(withLoad(command), { rounds: 7, seconds: 2 });
  command.addHelpText('after', examples);
  return command.action(async (names: readonly string[], options: CommonOptions & OwnLoad) => {
    const isOwn = own(options);
    const chosen = names.map((name) => (isOwn ? ownScenario(oneOf(...loadNames)(name), options) : scenarioNamed(name)));
    const settings = settingsOf(options);
    const { duration = 30 } = options;
    await terminal.measure(chosen, isOwn ? { ...settings, rounds: 1, seconds: duration } : settings, options);
  });
};
