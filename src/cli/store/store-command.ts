import { Command } from 'commander';
import { storeDir } from '../../app/log/event-log.ts';
import { readConfig } from '../../config/config.ts';
import { StoreLocked } from '../../embedded/index.ts';
import { backupStore, CannotCopy } from '../../embedded/maintenance/backup.ts';
import { compactStore } from '../../embedded/maintenance/compact.ts';
import type { VerifyReport } from '../../embedded/maintenance/report.ts';
import { NoStore, verifyStore } from '../../embedded/maintenance/verify.ts';
import { Failure } from '../../process/failure.ts';
import { withExamples } from '../examples.ts';
import { type Progress, progressBar } from '../progress.ts';
import { documents, jsonOf, type Output, show } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';
import { type ExportOptions, exportEvents } from './store-export.ts';
import { importEvents } from './store-import.ts';

interface Dir {
  readonly dir?: string;
}

const examples = `
Examples:
  weir store verify                          read everything, check everything; beside a running server too
  weir store backup --out /backup/today      a copy as of this moment, while the server runs; checked before it counts
  weir store export --out events.ndjson      every event of Weir's, one JSON object a line
  EVENTSTORE_URL=esdb://… weir store import --in events.ndjson
                                             into a cluster; run it again to go on after an interruption
  weir store compact                         give the room of deleted data back, on a stopped store

To restore a backup: stop the server, put the copy in the place of <DATA_DIR>/eventstore,
name a new file in AUDIT_SINKS where it names one, start the server.`;

const dirOption = ['--dir <folder>', 'the store (default: <DATA_DIR>/eventstore)'] as const;
const anyStore = ['--dir <folder>', 'a store (default: EVENTSTORE_URL, or else <DATA_DIR>/eventstore)'] as const;

export const storeCommand = (terminal: Terminal): Command => {
  const store = new Command('store').description('Verify, back up, export, import or compact the event store');
  withExamples(store, examples);
  documents(store.command('verify'))
    .description('Check everything that the store holds; exit status 1 if anything is not as it was written')
    .option(...dirOption)
    .action(async (options: Dir & Output) => {
      const json = jsonOf(terminal, options);
      const dir = filesOf(terminal, options);
      const report = await watched(terminal, 'Verifying', (progress) => verifyStore(dir, { progress: progress.at }));
      json?.add({ dir, ...reportInJson(report) });
      json?.end();
      if (!json) showDamages(terminal, dir, report, options);
      if (report.verdict === 'corrupt') throw new Failure(`The store in ${dir} is corrupt.`);
    });
  store
    .command('backup')
    .description('Copy the store as of this moment, in use or not, and check the copy')
    .requiredOption('--out <folder>', 'where the copy goes; must not be there yet')
    .option(...dirOption)
    .action(async (options: Dir & { out: string }) => {
      const dir = filesOf(terminal, options);
      const report = await watched(terminal, 'Checking the copy', (progress) =>
        backupStore(dir, options.out, { progress: progress.at }),
      );
      terminal.out(`${options.out} holds ${report.events} events of ${report.streams} streams, checked.\n`);
      terminal.err('The secrets are not in it: back SECRETS_DIR up too, and keep it elsewhere.\n');
    });
  store
    .command('compact')
    .description('Write the files of a stopped store anew, without the room of deleted data')
    .option(...dirOption)
    .action(async (options: Dir) => {
      const dir = filesOf(terminal, options);
      const { before, after } = await watched(terminal, 'Verifying', (progress) =>
        compactStore(dir, { progress: progress.at }),
      );
      terminal.out(`${dir}: ${mebibytes(before)} before, ${mebibytes(after)} now.\n`);
    });
  store
    .command('export')
    .description("Write Weir's events to a file, one JSON object a line, in the order of the log")
    .requiredOption('--out <file>', 'the file; must not be there yet')
    .option('--all', 'the events of other applications in the same store too')
    .option(...anyStore)
    .action((options: ExportOptions) => exportEvents(terminal, options));
  store
    .command('import')
    .description('Write the events of such a file into a store; may be repeated, and goes on where it was')
    .requiredOption('--in <file>', 'a file that weir store export has written')
    .option(...anyStore)
    .action((options: Dir & { in: string }, called: Command) => importEvents(terminal, options, called));
  return store;
};

/** With names like those of the API. */
const reportInJson = ({ purgedStreams, lastPosition, ...report }: VerifyReport): object => ({
  ...report,
  purged_streams: purgedStreams,
  last_position: lastPosition,
});

const showDamages = (terminal: Terminal, dir: string, report: VerifyReport, options: Output): void => {
  const { verdict, events, streams, purgedStreams, damages, more } = report;
  const purged = purgedStreams === 0 ? '' : `, ${purgedStreams} of them with expired events removed`;
  if (verdict === 'ok') {
    terminal.out(`${dir}: ok. ${events} events of ${streams} streams${purged}.\n`);
    return;
  }
  const rows = damages.map(({ position = null, stream = null, revision = null, what }) => ({
    position,
    stream,
    revision,
    what,
  }));
  show(terminal, rows, options);
  if (more > 0) terminal.out(`… and ${more} more.\n`);
};

const filesOf = (terminal: Terminal, { dir }: Dir): string => {
  const config = readConfig(terminal.env);
  if (dir === undefined && config.EVENTSTORE_URL !== undefined) {
    throw new Failure('EVENTSTORE_URL names a cluster, whose files are its own affair; --dir names a folder.');
  }
  return dir ?? storeDir(config);
};

/** Runs work with a progress bar, and turns errors that an operator can fix into a `Failure`. */
const watched = async <T>(terminal: Terminal, what: string, work: (progress: Progress) => Promise<T>): Promise<T> => {
  const progress = progressBar(terminal, what);
  try {
    return await work(progress);
  } catch (error) {
    if (error instanceof StoreLocked) throw new Failure(`${error.message} Stop it first.`, 1, error);
    if (error instanceof NoStore || error instanceof CannotCopy) throw new Failure(error.message, 1, error);
    throw error;
  } finally {
    progress.done();
  }
};

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
