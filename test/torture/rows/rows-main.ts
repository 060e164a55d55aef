/**
 * Opens the read models, or the checkpoints of a reactor, in each of the folders named on standard input, one a line, and prints
 * what they answer as one line of JSON. A file that kills the process kills this one, which is the point.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { open } from 'lmdb';
import { Packr } from 'msgpackr';
import { projections } from '../../../projections/all.ts';
import { startReactors } from '../../../src/kernel/followers/reactor.ts';
import { openReadModels, type ReadModels } from '../../../src/kernel/projections/projection.ts';
import type { Range, Table } from '../../../src/kernel/rows/rows.ts';
import { onSignal } from '../../../src/telemetry.ts';
import type { MemoryStore } from '../../support/memory-store.ts';
import type { Outcome, Task } from './ask-each.ts';
import { type Answers, ask, dueTo, emptyLog, happen, noting, type Questions, type World } from './rows-world.ts';

const [worldFile = ''] = process.argv.slice(2);
const { early, late, questions } = JSON.parse(readFileSync(worldFile, 'utf8')) as {
  readonly early: World;
  readonly late: World;
  readonly questions: Questions;
};
const reachedMs = 20_000;
let told: string[] = [];
onSignal((name, signal) => {
  if ('projections' in signal) told.push(`${name}: ${signal.projections.join(', ')}`);
  if ('reactors' in signal) told.push(`${name}: ${signal.reason}`);
});

const openModels = (dir: string, store: MemoryStore): Promise<ReadModels> =>
  openReadModels({ ours: (batch) => batch, dir, store, logId: 'log', projections });

const flip = (dir: string, { at, bit }: NonNullable<Task['flip']>): void => {
  const file = openSync(join(dir, 'data.mdb'), 'r+');
  const byte = readFileSync(file).subarray(at, at + 1);
  writeSync(file, Buffer.from([byte[0]! ^ bit]), 0, 1, at);
  closeSync(file);
};

const askModels = async ({ dir, flip: flipped }: Task): Promise<Outcome> => {
  const store = emptyLog();
  happen(store, early);
  let models = await openModels(dir, store);
  const rounds: Record<string, Answers> = { 'at once': ask(models, questions) };
  if (flipped) {
    flip(dir, flipped);
    models.refresh();
    rounds['while it is served'] = ask(models, questions);
  }
  await models.whole(models.tables);
  rounds.whole = ask(models, questions);
  happen(store, late);
  await models.reached(store.log.at(-1)!.position, reachedMs, models.tables);
  await models.written(models.tables);
  rounds.later = ask(models, questions);
  await models.close();
  models = await openModels(dir, store);
  rounds['opened again'] = ask(models, questions);
  await models.close();
  await store.close();
  return { told, rounds };
};

/** As the release before has read them. */
const askUnprotected = async ({ dir }: Task): Promise<Outcome> => {
  const root = open<Buffer, string>({ path: dir, encoding: 'binary', compression: false, maxDbs: 100, readOnly: true });
  const packr = new Packr({ useRecords: false });
  const sums = 9;
  const tableOf = ({ name }: Table<unknown>) => root.openDB<Buffer, string>({ name, encoding: 'binary' });
  const unpacked = <Row>(bytes: Buffer) => packr.unpack(bytes.subarray(sums)) as Row;
  const rows = {
    get: <Row>(from: Table<Row>, key: string) => {
      const bytes = tableOf(from).getBinary(key);
      return bytes && unpacked<Row>(bytes);
    },
    range: <Row>(from: Table<Row>, { prefix, limit }: Range) =>
      [...tableOf(from).getRange({ start: prefix, end: `${prefix}\uffff`, limit })].map(({ key, value }) => ({
        key,
        row: unpacked<Row>(value),
      })),
  };
  const rounds = { 'at once': ask(rows, questions) };
  await root.close();
  return { told, rounds };
};

const askReactors = async ({ dir }: Task): Promise<Outcome> => {
  const store = emptyLog();
  happen(store, [...early, ...late]);
  const seen: number[] = [];
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const last = dueTo(store.log).at(-1);
  const reactor = noting((position) => {
    seen.push(position);
    if (position === last) end();
  });
  const reactors = await startReactors({ dir, store, logId: 'log', reactors: [reactor], ours: (batch) => batch });
  await ended;
  await reactors.close();
  await store.close();
  return { told, seen };
};

for await (const line of createInterface(process.stdin)) {
  told = [];
  const task = JSON.parse(line) as Task;
  const asked = { models: askModels, unprotected: askUnprotected, reactors: askReactors }[task.what];
  const outcome: Outcome = await asked(task).catch((error: Error) => ({ refused: error.stack ?? error.message }));
  await new Promise((written) => process.stdout.write(`${JSON.stringify(outcome)}\n`, written));
}
process.exit(0);
