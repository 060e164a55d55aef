import type { EventLog } from '../../app/log/event-log.ts';
import { NoHistory, NotAnId } from '../../audit/history.ts';
import { readConfig } from '../../config/config.ts';
import type { CorruptStream } from '../../kernel/aggregate/fold.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { Failure } from '../../process/failure.ts';
import { currentRows, newestEvent, onLog } from '../operator.ts';
import { printable, type Terminal, UsageError } from '../terminal.ts';

const longestWaitMs = 5_000;

export type OnCorrupt = (found: CorruptStream) => void;

/** `onCorrupt` names each corrupt stream once on standard error, and makes the exit status 1. */
export const reading = async <T>(
  terminal: Terminal,
  read: (store: EventStore, onCorrupt: OnCorrupt, log: EventLog) => Promise<T>,
): Promise<T> => {
  const named = new Set<string>();
  const name = ({ stream, message }: CorruptStream): void => {
    if (!named.has(stream)) terminal.err(`${printable(message)}.\n`);
    named.add(stream);
  };
  try {
    const answer = await onLog(terminal, (log) => read(log.store, name, log));
    // The messages are already printed.
    if (named.size > 0) throw new Failure('');
    return answer;
  } catch (error) {
    if (error instanceof NotAnId) throw new UsageError(printable(error.message));
    if (error instanceof NoHistory) throw new Failure(printable(error.message));
    throw error;
  }
};

/** The same with read models that include every event at the time of the call. `isServed`: a running server maintains them. */
export const readingRows = <T>(
  terminal: Terminal,
  read: (store: EventStore, rows: RowReader, onCorrupt: OnCorrupt, isServed: boolean) => Promise<T>,
): Promise<T> =>
  reading(terminal, async (store, onCorrupt) => {
    const current = await currentRows(readConfig(terminal.env), store);
    try {
      const newest = await newestEvent(store);
      if (newest && !(await current.reached(newest.position, longestWaitMs)))
        terminal.err('The running server has not applied the latest events yet: they may be missing here.\n');
      return await read(store, current.rows, onCorrupt, current.isServed);
    } finally {
      await current.close();
    }
  });
