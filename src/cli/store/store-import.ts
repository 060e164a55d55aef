import { createReadStream, existsSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { findStore } from '../../app/log/event-log.ts';
import { checkpointOf } from '../../audit/log/checkpoint-event.ts';
import { checkpointStream } from '../../audit/log/leaf.ts';
import { systemClock } from '../../clock.ts';
import { readConfig } from '../../config/config.ts';
import type { RawAppend } from '../../eventstoredb/append.ts';
import { openArchive } from '../../eventstoredb/archive.ts';
import type { RawEvent } from '../../eventstoredb/client/raw-event.ts';
import type { Target } from '../../eventstoredb/client/target.ts';
import { connect } from '../../eventstoredb/connect.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import { logIdStream } from '../../kernel/store/log-id.ts';
import type { Actor } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { operatorContext } from '../operator.ts';
import { type Progress, progressBar } from '../progress.ts';
import { printable, type Terminal } from '../terminal.ts';
import { Importer } from './importer.ts';
import { BadLine, readLine } from './store-line.ts';
import { described, isCopied, Revisions, TOMBSTONE } from './store-streams.ts';

const importedStream = 'log-imported';
const EVENTS_PER_APPEND = 100;
const BYTES_PER_APPEND = 256 * 1024;
/** Appends in flight to an embedded store. A cluster gets one at a time, because only then the order is sure to be kept. */
const UNDER_WAY = 256;
const BYTES_UNDER_WAY = 4 * 1024 * 1024;

interface Contents {
  readonly events: number;
  /** Leaves that the newest checkpoint in the file covers; null if it is not a log of Weir. */
  readonly signed: number | null;
  readonly revisions: Revisions;
}

/** `weir store import`. The whole file is checked before anything is written. */
export const importEvents = async (
  terminal: Terminal,
  options: { dir?: string; in: string },
  called: Command,
): Promise<void> => {
  const file = options.in;
  if (!existsSync(file)) throw new Failure(`There is no file ${file}.`);
  const config = readConfig(terminal.env);
  const { events, signed, revisions } = await survey(terminal, file);
  const place = await findStore(config, options.dir);
  const archive = openArchive(place.target);
  try {
    const importer = new Importer(archive, revisions.tombstoned);
    await importer.begin();
    const window = place.isEmbedded ? UNDER_WAY : 1;
    await writeAll({ terminal, file, revisions, importer, window });
    const { written, alreadyThere } = importer;
    if (written > 0 && signed !== null)
      await markImported(place.target, { signed, events }, operatorContext(terminal, called).actor);
    terminal.out(`${written} events imported, ${alreadyThere} of ${events} were there already.\n`);
    const complaint = revisions.complaint();
    if (complaint !== undefined) throw new Failure(printable(`Everything else is imported. ${complaint}`));
  } finally {
    await archive.close();
    await place.close();
  }
};

async function* eventsOf(file: string, progress: Progress): AsyncGenerator<RawEvent, number | undefined> {
  const stream = createReadStream(file);
  const size = Math.max(1, statSync(file).size);
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  let claimed: number | undefined;
  try {
    for await (const line of lines) {
      number++;
      if (claimed !== undefined) throw new Failure(`${file} goes on behind its last line, in line ${number}.`);
      const read = parsed(file, number, line);
      if ('weir_export' in read) claimed = read.events;
      else yield read;
      if (number % 500 === 0) progress.at(Math.min(1, stream.bytesRead / size));
    }
    return claimed;
  } finally {
    lines.close();
    stream.destroy();
  }
}

const parsed = (file: string, number: number, line: string): ReturnType<typeof readLine> => {
  try {
    return readLine(line);
  } catch (error) {
    if (error instanceof BadLine) throw new Failure(`Line ${number} of ${file} ${error.message}.`, 1, error);
    throw error;
  }
};

const survey = async (terminal: Terminal, file: string): Promise<Contents> => {
  const progress = progressBar(terminal, 'Reading the file');
  const revisions = new Revisions();
  let events = 0;
  let signed: number | null = null;
  let before = -1n;
  try {
    const lines = eventsOf(file, progress);
    for (;;) {
      const { done, value } = await lines.next();
      if (done) {
        if (value === undefined) throw new Failure(`${file} is not complete: its last line is missing.`);
        if (value !== events) throw new Failure(`${file} should hold ${value} events and holds ${events}.`);
        return { events, signed, revisions };
      }
      if (value.position <= before) throw new Failure(`${file} is not in the order of the log.`);
      before = value.position;
      events++;
      if (value.stream === logIdStream) signed ??= 0;
      signed = sizeSigned(value) ?? signed;
      if (isCopied(value.stream)) revisions.add(value.stream, value.revision);
    }
  } finally {
    progress.done();
  }
};

interface Work {
  readonly terminal: Terminal;
  readonly file: string;
  readonly revisions: Revisions;
  readonly importer: Importer;
  readonly window: number;
}

const writeAll = async ({ terminal, file, revisions, importer, window }: Work): Promise<void> => {
  const progress = progressBar(terminal, 'Importing');
  let interrupted = false;
  void terminal.interrupted().then(() => {
    interrupted = true;
  });
  let appends: AppendBatch[] = [];
  let bytes = 0;
  const flush = async () => {
    await importer.write(appends);
    appends = [];
    bytes = 0;
    if (interrupted) throw new Failure('Interrupted: run the same command again to go on.');
  };
  try {
    for await (const event of eventsOf(file, progress)) {
      if (!isCopied(event.stream) || revisions.incomplete.has(event.stream)) continue;
      // The store adds metadata of its own after some events, so metadata is compared one by one.
      const isAlone = event.revision === TOMBSTONE || described(event.stream) !== undefined;
      if (isAlone) await flush();
      const size = event.data.length + event.metadata.length + 2 * event.type.length;
      if (appends.at(-1)?.take(event, size) !== true) {
        if (appends.length >= window || bytes > BYTES_UNDER_WAY) await flush();
        appends.push(new AppendBatch(event, size));
      }
      bytes += size;
      if (isAlone) await flush();
    }
    await flush();
  } finally {
    progress.done();
  }
};

/** An append that can grow by events of the same stream up to a limit. */
class AppendBatch implements RawAppend {
  readonly stream: string;
  readonly expected: bigint;
  readonly events: RawEvent[];
  private size: number;

  constructor(first: RawEvent, size: number) {
    this.stream = first.stream;
    this.expected = first.revision - 1n;
    this.events = [first];
    this.size = size;
  }

  take(event: RawEvent, size: number): boolean {
    if (event.stream !== this.stream || this.events.length === EVENTS_PER_APPEND) return false;
    if (event.revision === TOMBSTONE || this.size + size > BYTES_PER_APPEND) return false;
    this.events.push(event);
    this.size += size;
    return true;
  }
}

/** The size of the tree that a checkpoint signs; undefined for other events. */
const sizeSigned = ({ stream: of, type, data }: RawEvent): number | undefined => {
  if (of !== checkpointStream) return undefined;
  try {
    return checkpointOf({ type, data: JSON.parse(Buffer.from(data).toString('utf8')) as Record<string, unknown> })
      ?.checkpoint.size;
  } catch {
    return undefined;
  }
};

/** Records permanently that the log is a copy, whose verification needs a checkpoint of the original. */
const markImported = async (
  target: Target,
  { signed, events }: { readonly signed: number; readonly events: number },
  actor: Actor,
): Promise<void> => {
  const store = connect(target);
  try {
    let revision: number | 'no_stream' = 'no_stream';
    for await (const event of store.read(importedStream)) revision = event.revision;
    const command = `import of ${events} events after ${revision}`;
    const event = logEvent(command, importedStream, 'log.imported', { size: signed, events }, systemClock, actor);
    await store.append(importedStream, [event], revision);
  } finally {
    await store.close();
  }
};
