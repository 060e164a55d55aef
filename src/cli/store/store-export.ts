import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { findStore, storeDir } from '../../app/event-log.ts';
import { readConfig } from '../../config.ts';
import { hasStore } from '../../embedded/index.ts';
import { type Archive, openArchive } from '../../eventstoredb/archive.ts';
import { progressBar } from '../progress.ts';
import { Failure, printable, type Terminal } from '../terminal.ts';
import { lineOf } from './store-line.ts';
import { isCopied, Revisions } from './store-streams.ts';

const CHUNK_CHARS = 256 * 1024;

/** `weir store export`. The file gets its name when it is complete and on the disk. */
export const exportEvents = async (terminal: Terminal, options: { dir?: string; out: string }): Promise<void> => {
  const { out } = options;
  const config = readConfig(terminal.env);
  const needsFiles = options.dir !== undefined || config.EVENTSTORE_URL === undefined;
  const dir = options.dir ?? storeDir(config);
  if (needsFiles && !hasStore(dir)) throw new Failure(`There is no event store in ${dir}.`);
  if (existsSync(out)) throw new Failure(`${out} exists already.`);
  const parent = dirname(out);
  if (!statSync(parent, { throwIfNoEntry: false })?.isDirectory()) throw new Failure(`There is no folder ${parent}.`);

  const draft = `${out}.partial`;
  const place = await findStore(config, options.dir);
  const archive = openArchive(place.target);
  const file = await open(draft, 'w', 0o600);
  try {
    const { events, revisions } = await writeAll(terminal, archive, file);
    await file.sync();
    await rename(draft, out);
    const complaint = revisions.complaint();
    if (complaint !== undefined) terminal.err(`${printable(complaint)}\n`);
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
): Promise<{ events: number; revisions: Revisions }> => {
  const end = Number((await archive.last())?.position ?? 0n);
  const revisions = new Revisions();
  const progress = progressBar(terminal, 'Exporting');
  let interrupted = false;
  void terminal.interrupted().then(() => {
    interrupted = true;
  });
  let events = 0;
  let chunk = '';
  try {
    for await (const event of archive.readAll()) {
      if (interrupted) throw new Failure('Interrupted: nothing was exported.');
      if (!isCopied(event.stream)) continue;
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
  return { events, revisions };
};
