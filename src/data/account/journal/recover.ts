import type { Settlement } from '../../../domain/usage/usage-events.ts';
import { abandoned, type Begun, entriesOf, soundLines } from './entry.ts';
import type { JournalFiles } from './files.ts';

export interface Recovered {
  /** Files that may not be in the event store, oldest first, with the number of requests that each settles. */
  readonly unsent: ReadonlyMap<number, number>;
  readonly sent: readonly number[];
  /** Of requests in flight at the end. */
  readonly abandoned: readonly Settlement[];
  /** With a wrong checksum. */
  readonly damaged: number;
  /** Requests without a line, charged to nobody; `unknown` if it cannot be determined. */
  readonly missing: number | 'unknown';
}

type Lines = ReadonlySet<string>;

/** Whether the other file has all its lines. */
const isIn = (own: Lines, other: Lines): boolean => own.size > 0 && [...own].every((line) => other.has(line));

export const recover = async (files: JournalFiles): Promise<Recovered> => {
  await files.adoptLeftReserve();
  const [sent, unsent] = [files.list('sent'), files.list('open')];
  let next: Lines = new Set();
  for (let at = unsent.length - 1; at >= 0; at--) {
    const [number, later] = [unsent[at]!, unsent[at + 1]];
    const own: Lines = new Set(soundLines(await files.read(number, 'open')));
    // An abandoned file is in the next as a whole, or that one is still partial.
    if (isIn(own, next)) {
      await files.drop(number, 'open');
      unsent.splice(at, 1);
      continue;
    }
    if (isIn(next, own)) {
      await files.drop(later!, 'open');
      unsent.splice(at + 1, 1);
    }
    next = own;
  }
  const open = new Map<string, Begun>();
  const unsentOf = new Map<number, number>();
  let damaged = 0;
  const all = [...sent.map((n) => [n, 'sent'] as const), ...unsent.map((n) => [n, 'open'] as const)];
  // In writing order: an end is never in a file before its beginning.
  for (const [number, kind] of all.sort(([a], [b]) => a - b)) {
    const read = entriesOf(await files.read(number, kind));
    damaged += read.damaged;
    const settled = new Set<string>();
    for (const entry of read.entries) {
      if (entry.kind === 'begun') open.set(entry.begun.request_id, entry.begun);
      else if (entry.kind === 'settled') {
        open.delete(entry.settlement.request_id);
        settled.add(entry.settlement.request_id);
      }
    }
    if (kind === 'open') unsentOf.set(number, settled.size);
  }
  const found = [...unsentOf.values()].reduce((sum, requests) => sum + requests, open.size);
  const expected = files.tally.read();
  return {
    unsent: unsentOf,
    sent,
    abandoned: [...open.values()].map(abandoned),
    damaged,
    missing: expected === null ? 'unknown' : Math.max(0, (expected ?? 0) - found),
  };
};
