import { readFile } from 'node:fs/promises';
import { type TierTable, tiers } from '../../domain/organization/tiers.ts';
import { parseTiers } from './tiers-file.ts';

/** The table of tiers that holds at present. */
export interface TiersInForce {
  readonly table: TierTable;
}

/** What a tiers file, read again, has come to: another table, or why the one in force stays. */
export type TiersReload = { readonly table: TierTable } | { readonly fault: string };

export interface TiersFileOptions {
  /** Absent: the built-in table, for good. */
  readonly file: string | undefined;
  /** Puts another table into force. What it throws is a fault of the file, too. */
  readonly apply: (table: TierTable) => void;
  /** Told of each new content of the file, once; of one that cannot be used when two looks in a row have found it. */
  readonly reloaded: (outcome: TiersReload) => void;
  /** How often the file is read. Its content decides, not its times: it may be a link that is turned to another file. */
  readonly everyMs?: number;
}

/** A tiers file that cannot be used; the message names every fault on a line of its own. */
export class UnusableTiers extends Error {
  override readonly name = 'UnusableTiers';
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const textOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: Error) => {
    throw new UnusableTiers(`The tiers file ${file} cannot be read: ${cause.message}`, { cause });
  });

const tableOf = (text: string): TierTable => {
  try {
    return parseTiers(text);
  } catch (cause) {
    throw new UnusableTiers(messageOf(cause), { cause });
  }
};

/** The content of a tiers file and the table that it declares; the built-in table where there is none. @throws UnusableTiers */
export const readTiers = async (file: string | undefined): Promise<FirstTiers> => {
  if (file === undefined) return { text: '', table: tiers };
  const text = await textOf(file);
  return { text, table: tableOf(text) };
};

interface FirstTiers {
  readonly text: string;
  readonly table: TierTable;
}

/**
 * Follows a tiers file while it changes: what is sound is put into force without a restart, what is not is reported and
 * changes nothing.
 * @param first what `readTiers` has given at the start
 * @returns the table in force, `look`, which reads the file at once, and what ends it
 */
export const followTiers = (
  first: FirstTiers,
  { file, apply, reloaded, everyMs = 1000 }: TiersFileOptions,
): TiersInForce & { look(): Promise<void>; close(): Promise<void> } => {
  let { text: seen, table } = first;
  let last = seen;
  const read = async (path: string): Promise<void> => {
    // A file that cannot be read is a content of its own: it is told once, too.
    const text = await textOf(path).catch((error: UnusableTiers) => error);
    const content = typeof text === 'string' ? text : text.message;
    const stands = content === last;
    last = content;
    if (content === seen) return;
    try {
      if (typeof text !== 'string') throw text;
      const next = tableOf(text);
      seen = content;
      apply(next);
      table = next;
    } catch (error) {
      // A file that is being written is half a file for a moment: its fault counts once the next look finds it, too.
      if (content !== seen && !stands) return;
      seen = content;
      reloaded({ fault: messageOf(error) });
      return;
    }
    reloaded({ table });
  };
  let running: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    if (file === undefined) return;
    running ??= read(file).finally(() => {
      running = null;
    });
    await running;
  };
  const timer = file === undefined ? undefined : setInterval(look, everyMs);
  timer?.unref();
  return {
    get table() {
      return table;
    },
    look,
    async close() {
      clearInterval(timer);
      await running;
    },
  };
};
