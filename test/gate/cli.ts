/** The parts of `.ci/run` that run and judge tests: its records are files of one folder. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAtStore, type TestFile, testFiles } from '../support/lanes.ts';
import { faultsOf, type Report, type Run } from './report.ts';
import { type Look, secondLook } from './second-look.ts';
import { verdictOf } from './verdict.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const readJson = <T>(file: string): T | null =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : null;

const runTests = (
  { cwd, path }: Pick<Run, 'cwd' | 'path'>,
  command: readonly string[],
  files: readonly string[],
): Pick<Run, 'status' | 'report'> => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-gate-'));
  const file = join(folder, 'report.json');
  const [program, ...args] = command;
  const options = ['--reporter=dot', '--reporter=./test/gate/reporter.ts'];
  const { status } = spawnSync(program!, [...args, '--', ...files, ...options], {
    cwd,
    env: { ...process.env, PATH: path, GATE_REPORT: file },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const report = readJson<Report>(file);
  rmSync(folder, { recursive: true });
  return { status, report };
};

/** Which of the commands run a file: `npm test`, `npm run test:rest`, `npm run test:daily`. */
const commandsOf = (file: TestFile): string[] => {
  const own = file.lane === 'rest' || file.lane === 'daily' ? file.lane : 'test';
  return isAtStore(file) ? [own, 'rest'] : [own];
};

const [part, ...args] = process.argv.slice(2);

if (part === 'commands') {
  // FILE…
  const files = testFiles();
  const named = args.map((name) => files.filter(({ path }) => path === name));
  const unknown = args.filter((_, i) => named[i]!.length === 0);
  for (const name of unknown) process.stderr.write(`no test file is called ${name}\n`);
  const wanted = new Set(named.flat().flatMap(commandsOf));
  for (const command of ['test', 'rest', 'daily']) if (wanted.has(command)) say(command);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const [folder = '', ...rest] = args;
const looksFile = join(folder, 'looks.json');
const runs = readdirSync(folder)
  .filter((name) => name.startsWith('run-'))
  .toSorted()
  .map((name) => readJson<Run>(join(folder, name))!);

if (part === 'run') {
  // STEP [FILE…] -- COMMAND…: failed files are judged when all else is over; what is no file's is a failed step now.
  const [step = '', ...named] = rest;
  const at = named.indexOf('--');
  const [asked, command] = [named.slice(0, at), named.slice(at + 1)];
  const where = { cwd: process.cwd(), path: process.env.PATH ?? '' };
  const run: Run = { step, command, asked, ...where, ...runTests(where, command, asked) };
  writeFileSync(join(folder, `run-${runs.length}.json`), JSON.stringify(run));
  if (faultsOf(run).length > 0) process.exitCode = 1;
} else if (part === 'look') {
  writeFileSync(looksFile, JSON.stringify(secondLook(runs, runTests, say)));
} else {
  // CLOSING FAILED-STEP…: the closing lines, CLOSING before the last of them.
  const [closing = '', ...failedSteps] = rest;
  const { lines, isPassed } = verdictOf(runs, readJson<Look[]>(looksFile) ?? [], failedSteps, closing);
  for (const line of lines) say(line);
  process.exitCode = isPassed ? 0 : 1;
}
