import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findStore, storeDir } from '../../app/log/event-log.ts';
import { readConfig } from '../../config/config.ts';
import { hasStore, whyNoStore } from '../../embedded/index.ts';
import { type Archive, openArchive } from '../../eventstoredb/archive.ts';
import { Failure } from '../../process/failure.ts';
import { progressBar } from '../progress.ts';
import { printable, type Terminal } from '../terminal.ts';
import { lineOf } from './store-line.ts';
import { isCopied, isWeirs, Revisions } from './store-streams.ts';

const CHUNK_CHARS = 256 * 1024;

export interface ExportOptions {
  readonly dir?: string;
  readonly out: string;
  readonly all?: boolean;
}

/** `weir store export`. The file is renamed into place once it is complete and synced. */
export const exportEvents = async (terminal: Terminal, options: ExportOptions): Promise<void> => {
  const { out, all = false } = options;
  const config = readConfig(terminal.env);
  const needsFiles = options.dir !== undefined || config.EVENTSTORE_URL === undefined;
  const dir = options.dir ?? storeDir(config);
  if (needsFiles && !hasStore(dir)) throw new Failure(`${whyNoStore(dir)}.`);
  if (existsSync(out)) throw new Failure(`${out} exists already.`);
  const parent = dirname(out);
  if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory()) throw new Failure(`There is no folder ${parent}.`);

  const draft = `${out}.partial`;
  const place = await findStore(config, options.dir);
  const archive = openArchive(place.target);
  const file = await open(draft, 'w', 0o600);
  try {
    const { events, foreign, revisions } = await writeAll(terminal, archive, file, all);
    await file.sync();
    await rename(draft, out);
    const complaint = revisions.complaint();
    if (complaint !== undefined) terminal.err(`${printable(complaint)}\n`);
    if (foreign > 0) terminal.err(`${foreign} events of other applications are left out; --all takes them along.\n`);
    terminal.out(`${out} holds ${events} events of ${revisions.streams} streams.\n`);
  } finally {
    await file.close();
    await rm(draft, { force: true });
    await archive.close();
    await place.close();
  }
};

const writeAll = async (
  terminal: Terminal,
  archive: Archive,
  file: FileHandle,
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
  let chunk = '';
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
      chunk += lineOf(event);
      if (chunk.length < CHUNK_CHARS) continue;
      await file.write(chunk);
      chunk = '';
      progress.at(Math.min(1, Number(event.position) / end));
    }
    await file.write(`${chunk}${JSON.stringify({ weir_export: 1, events })}\n`);
  } finally {
    progress.done();
  }
  return { events, foreign, revisions };
};
