/** `npm run mutants`: changes small pieces of the source, one at a time, and counts the changes that no test notices. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rewritePart } from '../support/guides.ts';
import { type Guarded, guarded, isGuarded, leastScore } from './guarded.ts';
import { percent, type Score, scoreOf } from './report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Below the project's own packages, so that the runner finds the project's vitest; and no dependency: it brings 180. */
const tools = join(root, 'node_modules/.cache/mutation');
const version = '9.6.1';
const main = join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js');
const results = join(root, 'results/mutants');
const reportFile = join(results, 'report.json');
const sandbox = join(results, 'sandbox');

const install = (): void => {
  if (existsSync(main)) return;
  mkdirSync(tools, { recursive: true });
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${version}`);
  const options = ['--prefix', tools, '--no-save', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...options, ...packages], { stdio: 'inherit' });
};

const settings = (name: Guarded) => ({
  mutate: guarded[name].modules,
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // What is computed once, when a module is loaded, would need a process of its own for each change.
  ignoreStatic: true,
  // TypeScript 7 has no API that could be asked for its settings.
  tsconfigFile: 'none.json',
  concurrency: 2,
  timeoutMS: 3000,
  reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only', 'json'],
  jsonReporter: { fileName: reportFile },
  tempDirName: sandbox,
});

/** @throws Error where Stryker could not do its work */
const measured = (name: Guarded): Score => {
  const settingsFile = join(results, 'stryker.json');
  writeFileSync(settingsFile, JSON.stringify(settings(name)));
  const env = { ...process.env, MUTATED: name };
  const { status } = spawnSync(process.execPath, [main, 'run', settingsFile], { cwd: root, env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`Stryker ended with ${status} at ${name}.`);
  return scoreOf(JSON.parse(readFileSync(reportFile, 'utf8')), name);
};

const row = (score: Score): string =>
  `| ${score.name} | ${score.mutants} | ${score.noticed} | ${percent(score).toFixed(1)} % |`;

/** The table with this score in it; other rows stay as they are. */
const withScore = (table: string, score: Score): string => {
  const rows = new Map<string, string>();
  for (const line of table.split('\n')) if (/^\| [a-z]+ \| \d/.test(line)) rows.set(line.split(' ')[1]!, line);
  rows.set(score.name, row(score));
  return ['| modules | changes | noticed by a test | score |', '|---|---|---|---|', ...rows.values()].join('\n');
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !isGuarded(name));
if (unknown !== undefined) {
  process.stderr.write(`${unknown} is none of ${Object.keys(guarded).join(', ')}.\n`);
  process.exit(2);
}
install();
mkdirSync(results, { recursive: true });
// What an interrupted run left would be copied into the next one's sandbox.
rmSync(sandbox, { recursive: true, force: true });
for (const name of wanted.length > 0 ? wanted : Object.keys(guarded)) {
  const score = measured(name as Guarded);
  for (const each of score.survived) process.stdout.write(`unnoticed: ${each}\n`);
  process.stdout.write(`${row(score)}\n`);
  rewritePart('mutants', (table) => withScore(table, score));
  if (percent(score) < leastScore) process.exitCode = 1;
}
