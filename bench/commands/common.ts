import type { Command } from 'commander';
import { Option } from 'commander';
import { formerBuild } from '../build.ts';
import { type Cores, cores, durationBetween, type NamedUrl, namedUrl, wholeBetween } from '../options.ts';
import { forwarded } from '../scenarios/weir-under-load.ts';
import type { StageSettings } from '../stage.ts';

/** What every measuring command understands. */
export interface CommonOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmup: number;
  readonly conns: number;
  readonly seed: number;
  readonly pin?: Cores;
  readonly out: string;
  readonly peer: readonly NamedUrl[];
  readonly peers: boolean;
  readonly peerKey: string;
  readonly peerModel: string;
  readonly install: boolean;
  readonly before?: string;
}

const longest = 3600;

export const withCommon = (
  command: Command,
  defaults: { readonly rounds: number; readonly seconds: number },
): Command =>
  command
    .addOption(
      new Option('--rounds <n>', 'interleaved rounds, 1 to 100; fewer than 5 are not judged')
        .argParser(wholeBetween(1, 100))
        .default(defaults.rounds),
    )
    .addOption(
      new Option('--seconds <time>', 'length of one measured window')
        .argParser(durationBetween(0.2, longest))
        .default(defaults.seconds),
    )
    .addOption(
      new Option('--warmup <time>', 'load on each server that is thrown away')
        .argParser(durationBetween(0, 600))
        .default(3),
    )
    .addOption(
      new Option('--conns <n>', 'keep-alive connections, 1 to 4096').argParser(wholeBetween(1, 4096)).default(64),
    )
    .addOption(
      new Option('--seed <n>', 'of everything that is random').argParser(wholeBetween(0, 2 ** 31 - 1)).default(7),
    )
    .addOption(
      new Option('--pin <cores>', 'cores of the two sides, server=0,gen=1 (default: the first two)').argParser(cores),
    )
    .addOption(
      new Option('--peer <name=url>', 'another gateway to put beside it, several times')
        .argParser(namedUrl)
        .default([], 'none'),
    )
    .option('--peer-key <key>', 'the key for such gateways', 'direct')
    .option('--peer-model <id>', 'the model that is asked for there', forwarded)
    .option('--no-peers', 'Weir and bare uWebSockets.js alone')
    .option('--no-install', 'never install a peer from npm into the cache folder')
    .option('--before <commit>', 'put a build of that commit beside it (messages)')
    .option('--out <folder>', 'where result.json and report.html go', 'results');

/** @throws Error in a sentence */
const builtBefore = (commit: string): string => {
  const main = formerBuild(commit);
  if (main === null) throw new Error(`There is no build of ${commit}: it is not in the repository, or does not build.`);
  return main;
};

export const settingsOf = (options: CommonOptions & { readonly url?: URL }): StageSettings => ({
  rounds: options.rounds,
  seconds: options.seconds,
  warmUpSeconds: options.warmup,
  connections: options.conns,
  seed: options.seed,
  withPeers: options.peers,
  mayInstall: options.install,
  others: options.peer,
  otherKey: options.peerKey,
  otherModel: options.peerModel,
  target: options.url?.origin ?? null,
  former: options.before === undefined ? null : builtBefore(options.before),
});
