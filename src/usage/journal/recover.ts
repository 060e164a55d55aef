import type { Settlement } from '../../domain/usage/usage-events.ts';
import { abandoned, type Begun, entriesOf, soundLines } from './entry.ts';
import type { JournalFiles } from './files.ts';

export interface Recovered {
  /** Files whose settlements may not be in the event store, the oldest first, and how many requests each settles. */
  readonly unsent: ReadonlyMap<number, number>;
  /** Files whose settlements are there. */
  readonly sent: readonly number[];
  /** Accounts of the requests that were in flight when the gateway ended. */
  readonly abandoned: readonly Settlement[];
  /** Lines that are not what was written. */
  readonly damaged: number;
  /** Requests of which no line is left, and which are charged to nobody; `unknown` where it cannot be told whether there are any. */
  readonly missing: number | 'unknown';
}

type Lines = ReadonlySet<string>;

/** Whether another file says all that one does. */
const isIn = (own: Lines, other: Lines): boolean => own.size > 0 && [...own].every((line) => other.has(line));

/** What the last run has left behind. */
export const recover = async (files: JournalFiles): Promise<Recovered> => {
  await files.adoptLeftReserve();
  const [sent, unsent] = [files.list('sent'), files.list('open')];
  let next: Lines = new Set();
  for (let at = unsent.length - 1; at >= 0; at--) {
    const [number, later] = [unsent[at]!, unsent[at + 1]];
    const own: Lines = new Set(soundLines(await files.read(number, 'open')));
    // One that was given up stands in the next as a whole, or that has not come further than a part of it.
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
  // In the order in which they were written: what ends a request never stands in a file before that of its beginning.
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
