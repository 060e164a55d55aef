/** `npm run torture`: the long form of every torture, and its figures into test/README.md. */
import { availableParallelism, loadavg } from 'node:os';
import { progressBar } from '../../src/cli/progress.ts';
import { allowClosedOutput } from '../../src/process/closed-output.ts';
import { rewritePart } from '../support/guides.ts';
import { type Figures, noFigures, type Plan } from './figures.ts';
import { type LongTest, passed, passes, withPassed } from './long-tests.ts';
import { BadOptions, type Options, readOptions, usage } from './options.ts';
import { Scene } from './scene.ts';
import { merged, type Row, rowOf, rowsIn, tableOf } from './table.ts';
import { type Kind, repetition, tortured } from './tortures.ts';

allowClosedOutput();

const badOptions = 2;
const interrupted = 130;
/** A load per core above which times say more about the machine than about the store. */
const BUSY = 1.5;
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs a torture behind a bar, where somebody watches. */
const watched = async (kind: Kind, plan: Plan): Promise<Figures> => {
  const figures = noFigures();
  const screen = process.stderr.isTTY ? { screen: process.stderr } : {};
  const bar = progressBar(screen, `${kind.id} ${kind.title}`);
  const timer = setInterval(() => bar.at(figures.cycles / plan.count), 200);
  try {
    return await tortured(kind, plan, figures);
  } finally {
    clearInterval(timer);
    bar.done();
  }
};

/** The row of one torture, none where it was skipped; and whether all was well. */
const run = async (kind: Kind, plan: Plan): Promise<{ readonly row?: Row; readonly isWell: boolean }> => {
  const canary = noFigures();
  try {
    // At a store of its own: nobody else is to have what it spoils.
    await kind.torture({ ...plan, from: 0, count: kind.counts.canary, canary: true, store: undefined }, canary);
  } catch (error) {
    say(`${kind.id}: the canary has stopped: ${error instanceof Error ? error.stack : error}`);
    return { isWell: false };
  }
  if (canary.skipped !== undefined) return { isWell: true };
  if (canary.wrong === 0) {
    say(`${kind.id}: the canary has noticed nothing, so the torture proves nothing.`);
    return { isWell: false };
  }
  const figures = await watched(kind, plan);
  const [, load = 0] = loadavg();
  const cores = availableParallelism();
  if (load > BUSY * cores) figures.notes.push(`the machine was busy: a load of ${Math.round(load)} on ${cores} cores`);
  const isWell = figures.wrong === 0;
  for (const fault of figures.faults) say(`${kind.id}: ${fault}`);
  if (!isWell) say(`${kind.id}: ${figures.wrong} faults. Again: ${repetition(kind, plan, figures)}`);
  return { row: rowOf(kind, plan, figures, canary), isWell };
};

const atLength = async (test: LongTest, count: number): Promise<boolean> => {
  const isWell = await passes(test, count);
  if (isWell) rewritePart('long-tests', (table) => withPassed(table, passed(test, count)));
  else say(`${test.id}: has failed. Again: npm run torture -- ${test.id}=${count}`);
  return isWell;
};

const main = async ({ runs, seed = Date.now() % 1_000_000, from, store, help }: Options): Promise<number> => {
  if (help) {
    process.stdout.write(usage);
    return 0;
  }
  let isWell = true;
  const rows: Row[] = [];
  for (const { kind, count } of runs) {
    const leftOut = store && ('file' in kind ? 'its tests have stores of their own' : kind.cannotAt(store));
    if (leftOut) {
      say(`${kind.id} ${kind.title}: left out, ${leftOut}.`);
      continue;
    }
    if ('file' in kind) {
      isWell = (await atLength(kind, count)) && isWell;
      continue;
    }
    const done = await run(kind, { count, seed, from, store });
    isWell &&= done.isWell;
    if (done.row === undefined) continue;
    rows.push(done.row);
    say(`${done.row.cells.join(' | ')}`);
    if (from > 0 || store) continue;
    // After each, since the next may take hours and be interrupted.
    const { row } = done;
    rewritePart('torture', (table) => tableOf(merged(rowsIn(table), [row])));
  }
  process.stdout.write(`${tableOf(rows)}\n`);
  return isWell ? 0 : 1;
};

const stop = (): void => void Scene.endAll().finally(() => process.exit(interrupted));
process.once('SIGINT', stop);
process.once('SIGTERM', stop);

try {
  process.exitCode = await main(readOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof BadOptions)) throw error;
  say(`${error.message}\n\n${usage}`);
  process.exitCode = badOptions;
}
