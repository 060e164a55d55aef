/** `npm run bench`: measures Weir beside its physical limits in one run and says whether the run may be quoted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './build.ts';
import { environment, isInMemory } from './machine/environment.ts';
import { choosePinning } from './machine/pin.ts';
import { benchMicro } from './micro.ts';
import { BadOptions, type Options, readOptions, usage } from './options.ts';
import { report } from './report/console.ts';
import { type Result, resultOf } from './report/result.ts';
import { exitStatusOf } from './report/validity.ts';
import { eventBytes, inFlight, startRig } from './rig.ts';
import { rampMs, runRounds, warmUpSeconds } from './run.ts';
import { contendersOf } from './scenarios/names.ts';
import { benchStore } from './store.ts';

const failed = 1;
const badOptions = 2;
const interrupted = 130;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const undo: (() => Promise<void>)[] = [];
let cleaning: Promise<void> | undefined;
/** Ends everything, newest first; who asks again waits for the same. */
const cleanUp = (): Promise<void> => {
  cleaning ??= (async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  })();
  return cleaning;
};

const measure = async ({ rounds, seconds, connections, only }: Options): Promise<Result> => {
  if (ensureBuilt()) say('built dist/');
  const dir = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  undo.push(async () => rmSync(dir, { recursive: true, force: true }));
  const contenders = contendersOf(only);
  const pinning = choosePinning();
  const rig = await startRig({ contenders, connections, pinning, dir }, undo);
  const measured = await runRounds({ contenders, rounds, seconds }, rig, say);
  return resultOf({
    at: new Date().toISOString(),
    environment: environment(),
    settings: { rounds, seconds, connections, inFlight, eventBytes, warmUpSeconds, rampMs },
    pinning,
    inMemory: contenders.includes('puts') && isInMemory(dir),
    ...measured,
  });
};

const main = async (args: readonly string[]): Promise<number> => {
  if (args[0] === 'micro') {
    process.stdout.write(await benchMicro(args.slice(1), say, undo));
    return 0;
  }
  if (args[0] === 'store') {
    process.stdout.write(await benchStore(args.slice(1), say, undo));
    return 0;
  }
  const options = readOptions(args);
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const result = await measure(options);
  process.stdout.write(report(result));
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(result, null, 2)}\n`);
  return exitStatusOf(result.verdict);
};

let isInterrupted = false;
const stop = (): void => {
  isInterrupted = true;
  void cleanUp().finally(() => process.exit(interrupted));
};
// Not once: Ctrl-C reaches us from the terminal and again from whoever started us.
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

process.exitCode = await main(process.argv.slice(2))
  .catch((error: Error) => {
    if (isInterrupted) return interrupted;
    if (error instanceof BadOptions) {
      say(`${error.message}\n\n${usage}`);
      return badOptions;
    }
    say(`The bench failed: ${error.message}`);
    return failed;
  })
  .finally(cleanUp);
