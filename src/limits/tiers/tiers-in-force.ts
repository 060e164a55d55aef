import { readFile } from 'node:fs/promises';
import { type TierTable, tiers } from '../../domain/organization/tiers.ts';
import { parseTiers } from './tiers-file.ts';

export interface TiersInForce {
  readonly table: TierTable;
}

/** Another table, or why the present one stays. */
export type TiersReload = { readonly table: TierTable } | { readonly fault: string };

export interface TiersFileOptions {
  /** Default: the built-in table. */
  readonly file: string | undefined;
  /** Applies another table. Its errors are faults of the file, too. */
  readonly apply: (table: TierTable) => void;
  /** Called once for each new content; for a fault only when two reads in a row have found it. */
  readonly reloaded: (outcome: TiersReload) => void;
  /** Pause between reads. Only the content counts, because a link may change its target. */
  readonly everyMs?: number;
}

/** The message has every fault on its own line. */
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

/** The content of a tiers file and its table; the built-in table without a file. @throws UnusableTiers */
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
 * Follows a changing tiers file: valid tables apply without a restart, faults are reported.
 * @param first the result of `readTiers`
 * @returns the table in force, `look`, which reads the file at once, and `close`
 */
export const followTiers = (
  first: FirstTiers,
  { file, apply, reloaded, everyMs = 1000 }: TiersFileOptions,
): TiersInForce & { look(): Promise<void>; close(): Promise<void> } => {
  let { text: seen, table } = first;
  let last = seen;
  const read = async (path: string): Promise<void> => {
    // The error of an unreadable file counts as a content, so that it is reported once.
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
      // The file may be half written, so a fault counts when the next read finds it again.
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
