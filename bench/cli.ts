/** `npm run bench`: measures Weir beside its physical limits and its peers, and says whether the run may be quoted. */
import { CommanderError } from 'commander';
import { allowClosedOutput } from '../src/process/closed-output.ts';
import { ensureBuilt } from './build.ts';
import { program } from './program.ts';
import { progressOn } from './progress.ts';
import { summary } from './report/console.ts';
import { exitStatusOf } from './report/result.ts';
import { writeReport } from './report/write.ts';
import { runScenarios, type Session } from './session.ts';
import type { Terminal } from './terminal.ts';

allowClosedOutput();

const failed = 1;
const badOptions = 2;
const interruptedStatus = 130;
const secretOptions = ['--key', '--peer-key'];

/** What `npm run bench` alone is: Weir's hot routes and its store beside their physical limits, in a few minutes. */
const usual = ['peers', '--only', 'models,messages,store', '--no-peers', '--rounds', '5', '--seconds', '1'];

const given = process.argv.slice(2);
const args = given.length > 0 ? given : usual;
/** The command line as a report may show it: without the keys that are on it. */
const shown = args.map((arg, i) =>
  secretOptions.includes(args[i - 1] ?? '') ? '…' : arg.replace(/^(--(?:peer-)?key)=.*/s, '$1=…'),
);
const progress = progressOn(process.stderr);
const interruption = new AbortController();
const undo: (() => Promise<void>)[] = [];
let status = 0;

const session: Session = {
  interrupted: interruption.signal,
  undo,
  say: progress.say,
  tell: progress.tell,
  command: ['bench', ...shown].join(' '),
};

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  say: progress.say,
  session,
  exit: (next) => {
    status = next;
  },
  async measure(scenarios, settings, { out, pin }) {
    if (!scenarios.every(({ isElsewhere }) => isElsewhere)) ensureBuilt();
    const result = await runScenarios(scenarios, session, settings, pin);
    progress.end();
    const files = writeReport(result, out);
    process.stdout.write(summary(result));
    process.stdout.write(`\n${files.html}\n${files.json}\n`);
    status = result.interrupted ? interruptedStatus : exitStatusOf(result);
    return result;
  },
};

const endAll = async (): Promise<void> => {
  for (let step = undo.pop(); step; step = undo.pop()) await step().catch(() => {});
};

let hurry = false;
const stop = (): void => {
  // Not once: Ctrl-C reaches us from the terminal and again from npm. A second one, later, ends everything at once.
  if (hurry) void endAll().finally(() => process.exit(interruptedStatus));
  if (interruption.signal.aborted) return;
  progress.say('ending with what there is (Ctrl-C again to leave at once)');
  interruption.abort();
  setTimeout(() => {
    hurry = true;
  }, 1000).unref();
};
process.on('SIGINT', stop);
process.on('SIGTERM', stop);

const bench = program(terminal);
for (const command of [bench, ...bench.commands]) command.exitOverride();
try {
  await bench.parseAsync(args, { from: 'user' });
} catch (error) {
  if (error instanceof CommanderError) status = error.exitCode === 0 ? 0 : badOptions;
  else {
    progress.say(error instanceof Error ? error.message : String(error));
    status = failed;
  }
} finally {
  progress.end();
  await endAll();
}
process.exitCode = status;
