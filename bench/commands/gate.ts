import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { ensureBuilt, formerBuild } from '../build.ts';
import { numberBetween, wholeBetween } from '../options.ts';
import type { ContenderResult } from '../report/contender.ts';
import { interval } from '../report/figures.ts';
import {
  type Baseline,
  baselineOf,
  baselineSchema,
  type GateRow,
  gateRounds,
  judgeGate,
  type Series,
} from '../report/gate.ts';
import type { Result } from '../report/result.ts';
import { pairedRatios, variation } from '../report/statistics.ts';
import { formerOf, gateScenario, judged } from '../scenarios/gate.ts';
import { runScenarios } from '../session.ts';
import type { Terminal } from '../terminal.ts';
import { type CommonOptions, settingsOf, withCommon } from './common.ts';

interface GateOptions extends CommonOptions {
  readonly baseline: string;
  readonly pairs?: number;
  readonly maxCpu: number;
  readonly maxP99: number;
  readonly twice?: true;
  readonly write?: true;
}

const slower = 5;
const notJudged = 3;
/** Of the bare server's CPU per request: beyond it the machine was not one machine. */
const mostVariation = 0.15;
const mostSteal = 0.02;

const defaultBaseline = fileURLToPath(new URL('../baseline.json', import.meta.url));

const examples = `
Examples:
  npm run bench -- gate                                        against bench/baseline.json
  npm run bench -- gate --pairs 5 --seconds 0.6 --max-cpu 1.3 --twice   as .ci/run does, a minute and a half
  npm run bench -- gate --pairs 31 --write                     measures a new baseline, on a quiet machine

It builds the baseline's commit beside the present source and runs both in the same rounds, for what others do to the
machine's caches moves the ratio to a bare server by more than a slow change does. Where that commit is not in the
repository, the ratios to bare uWebSockets.js are held against the baseline's. It fails where CPU per request has grown
beyond --max-cpu (or three standard errors of the median, if that is more) and the 95 % interval leaves no doubt of it. A p99
beyond --max-p99 is only told. With --twice a failure is measured again before it counts. Where the machine was too
uneven to judge, it says so and exits with 3; with --twice, which is for CI, that is no failure. A former build that cannot
read what this source writes always is: it is time for a new baseline then.`;

/** @throws Error in a sentence */
const readBaseline = (file: string): Baseline => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error(`There is no baseline ${file}: npm run bench -- gate --write makes one.`);
  }
  const parsed = baselineSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${file} is not a baseline: ${issue?.path.join('.')}: ${issue?.message}`);
};

const cpuOf = ({ windows }: ContenderResult): number[] =>
  windows.map(({ serverMicros, done }) => (serverMicros ?? Number.NaN) / done);

/** Of a run that `whyNot` finds nothing against. */
const seriesOf = ({ scenarios: [found] }: Result): readonly Series[] => {
  const named = new Map(found?.contenders.map((each) => [each.name, each]));
  const unit = named.get('hello');
  if (!unit) throw new TypeError('nothing was measured');
  const beside = (each: ContenderResult, other: ContenderResult) => ({
    cpu: pairedRatios(cpuOf(each), cpuOf(other)),
    p99: pairedRatios(each.p99Rounds, other.p99Rounds),
  });
  return Object.values(judged).map((name) => {
    const each = named.get(name);
    if (!each) throw new TypeError(`${name} was not measured`);
    const former = named.get(formerOf(name));
    return { name, ...beside(each, unit), former: former ? beside(each, former) : null };
  });
};

/** @throws Error where no server could be measured at all: that is not for the machine to answer for */
const checkMeasured = ({ scenarios: [found] }: Result): void => {
  if (found && found.contenders.length > 0) return;
  throw new Error(`Nothing could be measured: ${found?.verdict.invalid.join('; ')}`);
};

/**
 * Why the rounds say nothing. The load average is no reason here: after tests it is always high, and passes slowly. Beside a
 * former build the machine need not have been even, for the limit grows with what the two of them vary.
 */
const whyNot = ({ scenarios: [found] }: Result, former: string | null): string | null => {
  const unit = found?.contenders.find(({ name }) => name === 'hello');
  if (!found || !unit) return 'the bare server was not measured';
  const varied = variation(cpuOf(unit));
  if (Number.isNaN(varied)) return 'without /proc there is no CPU time';
  if (former !== null) return null;
  if (varied > mostVariation) return `the bare server's CPU per request varied by ${(varied * 100).toFixed(0)} %`;
  const { steal } = found.surroundings;
  return steal !== null && steal > mostSteal ? `the hypervisor took ${(steal * 100).toFixed(1)} % of the time` : null;
};

const line = ({ name, cpu, change, limit, verdict, warning }: GateRow, before: string): string => {
  const now = `${name}: ${interval(cpu)} times bare uWebSockets.js`;
  const compared = change
    ? `, ${interval(change)} times ${before} (limit ${limit.toFixed(2)}): ${verdict}`
    : ': no baseline';
  return `${now}${compared}${warning === null ? '' : `\n  warning: ${warning}`}\n`;
};

export const gateCommand = (terminal: Terminal): Command => {
  const command = new Command('gate')
    .description('Fail where the hot routes have become slower than the baseline, by ratios and their intervals')
    .option('--baseline <file>', 'what to compare with', defaultBaseline)
    .addOption(new Option('--pairs <n>', 'rounds, each with every server once').argParser(wholeBetween(1, 100)))
    .addOption(
      new Option('--max-cpu <ratio>', 'most CPU per request beside the baseline')
        .argParser(numberBetween(1, 100))
        .default(1.1),
    )
    .addOption(
      new Option('--max-p99 <ratio>', 'p99 beside the baseline that is worth a warning')
        .argParser(numberBetween(1, 100))
        .default(1.3),
    )
    .option('--twice', 'measure a failure again before it counts; what cannot be judged passes')
    .option('--write', 'write the baseline instead of comparing with it');
  withCommon(command, { rounds: gateRounds, seconds: 1 });
  return command.addHelpText('after', examples).action(async (options: GateOptions) => {
    const settings = { ...settingsOf(options), rounds: options.pairs ?? options.rounds, withPeers: false };
    ensureBuilt();
    const measure = (former: string | null) =>
      runScenarios([gateScenario(former)], terminal.session, settings, options.pin);
    if (options.write) {
      const result = await measure(null);
      checkMeasured(result);
      const { environment, at } = result;
      const about = {
        at,
        commit: environment.commit,
        node: environment.node,
        cpu: environment.cpu,
        rounds: settings.rounds,
      };
      const found = whyNot(result, null);
      if (found !== null) throw new Error(`No baseline was written: ${found}.`);
      const baseline = baselineSchema.parse(baselineOf(seriesOf(result), about));
      writeFileSync(options.baseline, `${JSON.stringify(baseline, null, 2)}\n`);
      terminal.out(`${options.baseline} written\n`);
      return;
    }
    const baseline = readBaseline(options.baseline);
    const limits = { maxCpu: options.maxCpu, maxP99: options.maxP99 };
    const { commit } = baseline;
    const former = commit === null ? null : formerBuild(commit);
    const before = former === null ? 'the baseline' : `the build of ${commit?.slice(0, 7)}`;
    if (former === null) {
      terminal.say(
        `Beside the baseline's ratios alone: its commit ${commit ?? ''} is not here, or does not build now.`,
      );
    }
    for (const isLast of options.twice ? [false, true] : [true]) {
      const result = await measure(former);
      if (result.interrupted) return terminal.exit(130);
      checkMeasured(result);
      const reason = whyNot(result, former);
      if (reason !== null) {
        terminal.out(`NOT JUDGED: ${reason}.\n`);
        return terminal.exit(options.twice ? 0 : notJudged);
      }
      const rows = judgeGate(seriesOf(result), baseline, limits);
      terminal.out(rows.map((row) => line(row, before)).join(''));
      if (rows.every(({ verdict }) => verdict !== 'slower')) {
        terminal.out('no change beyond the noise\n');
        return;
      }
      terminal.out(isLast ? 'SLOWER\n' : 'slower: measured again before it counts\n');
    }
    terminal.exit(slower);
  });
};
