import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { findStore, storeDir } from '../../app/log/event-log.ts';
import { readConfig } from '../../config/config.ts';
import { hasStore, whyNoStore } from '../../embedded/index.ts';
import { type Archive, openArchive } from '../../eventstoredb/archive.ts';
import { Failure } from '../../process/failure.ts';
import { writeNewFile } from '../new-file.ts';
import { progressBar } from '../progress.ts';
import { printable, type Terminal } from '../terminal.ts';
import { lineOf } from './store-line.ts';
import { isCopied, isWeirs, Revisions } from './store-streams.ts';

export interface ExportOptions {
  readonly dir?: string;
  readonly out: string;
  readonly all?: boolean;
}

export const exportEvents = async (terminal: Terminal, options: ExportOptions): Promise<void> => {
  const { out, all = false } = options;
  const config = readConfig(terminal.env);
  const needsFiles = options.dir !== undefined || config.EVENTSTORE_URL === undefined;
  const dir = options.dir ?? storeDir(config);
  if (needsFiles && !hasStore(dir)) throw new Failure(`${whyNoStore(dir)}.`);
  const parent = dirname(out);
  if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory()) throw new Failure(`There is no folder ${parent}.`);
  const { events, foreign, revisions } = await writeNewFile(out, async (write) => {
    const place = await findStore(config, options.dir);
    const archive = openArchive(place.target);
    try {
      return await writeAll(terminal, archive, write, all);
    } finally {
      await archive.close();
      await place.close();
    }
  });
  const complaint = revisions.complaint();
  if (complaint !== undefined) terminal.err(`${printable(complaint)}\n`);
  if (foreign > 0) terminal.err(`${foreign} events of other applications are left out; --all takes them along.\n`);
  terminal.out(`${out} holds ${events} events of ${revisions.streams} streams.\n`);
};

const writeAll = async (
  terminal: Terminal,
  archive: Archive,
  write: (text: string) => Promise<void>,
  all: boolean,
): Promise<{ events: number; foreign: number; revisions: Revisions }> => {
  const end = Number((await archive.last())?.position ?? 0n);
  const revisions = new Revisions();
  const progress = progressBar(terminal, 'Exporting');
  let interrupted = false;
  void terminal.interrupted().then(() => {
    interrupted = true;
  });
  let events = 0;
  let foreign = 0;
  try {
    for await (const event of archive.readAll()) {
      if (interrupted) throw new Failure('Interrupted: nothing was exported.');
      if (!isCopied(event.stream)) continue;
      if (!all && !isWeirs(event.stream)) {
        foreign++;
        continue;
      }
      revisions.add(event.stream, event.revision);
      events++;
      await write(lineOf(event));
      if (events % 1_000 === 0) progress.at(Math.min(1, Number(event.position) / end));
    }
    await write(`${JSON.stringify({ weir_export: 1, events })}\n`);
  } finally {
    progress.done();
  }
  return { events, foreign, revisions };
};
