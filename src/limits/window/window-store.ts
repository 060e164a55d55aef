import { randomInt } from 'node:crypto';
import type { Millis } from '../../clock.ts';
import { Plans } from '../record/kind.ts';
import type { ScopeName } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import { Slab } from '../record/slab.ts';
import { WindowTime } from '../record/time.ts';
import type { FamilyLimits } from '../record/window-limits.ts';
import { AttemptJournal } from './attempt-journal.ts';
import { Tickets } from './ticket.ts';

/** Who is counted. Keep one object per credential, beside its principal: it remembers where that is counted. */
export interface LimitSubject {
  /** The key's record once it has been looked for; `recordOf` looks again when it has been freed. */
  record: WindowRecord | null;
  readonly key: string;
  /** Null where the family has no such scope. */
  readonly project: string | null;
  readonly organization: string;
}

/** A `LimitSubject` of which nothing is known yet. */
export const limitSubject = (key: string, project: string | null, organization: string): LimitSubject => ({
  // First, where the object's own line of memory is: all that a request reads of it.
  record: null,
  key,
  project,
  organization,
});

/** What should never happen and has; for a log and a metric. */
export type Trouble = {
  readonly key: string;
  readonly organization: string;
} & (
  | /** A ticket was settled or released again; nothing was changed. */ { readonly kind: 'ticket_ended_twice' }
  /** Tokens were settled for a request that had reserved none; its slot was released, the tokens were not counted. */
  | { readonly kind: 'settled_unreserved'; readonly tokens: number }
  /** A ticket outlived the longest request; the sweep gave its concurrency back and left its reservation to age out. */
  | { readonly kind: 'ticket_forgotten'; readonly ageMs: Millis }
);

export interface WindowStoreOptions {
  /** Names the family of windows in snapshots; one's snapshot is foreign to another. */
  readonly name: string;
  /** Whose windows these are, as the id of the event log; a snapshot of another log's is foreign too. */
  readonly owner?: string;
  readonly scopes: readonly ScopeName[];
  /** Limits by tier; a family without tiers has one. */
  readonly plans: readonly FamilyLimits[];
  /** The tier of an organization now: an index into `plans`. Asked when its record is made, never in the hot path. */
  readonly tierOf: (organization: string) => number;
  readonly report?: (trouble: Trouble) => void;
}

/**
 * The sliding windows of one family: its time, its records by scope and id, and what the next snapshot has to tell. The
 * operations are in files of their own.
 */
export class WindowStore {
  readonly name: string;
  /** By their names on the wire, from the innermost; the last is the organization. */
  readonly scopes: readonly ScopeName[];
  readonly tierOf: (organization: string) => number;
  readonly report: (trouble: Trouble) => void;
  readonly plans: Plans;
  readonly time = new WindowTime();
  readonly slab = new Slab();
  /** By scope and id. */
  readonly records: readonly Map<string, WindowRecord>[];
  readonly tickets = new Tickets();
  readonly journal = new AttemptJournal();
  /** Records that have changed since they were last in a snapshot, but for attempts that the journal tells of. */
  readonly unsaved = new Set<WindowRecord>();
  /** Tells the snapshots of one process from those of another, whose record numbers are other records. */
  readonly run = randomInt(2 ** 32);
  /** Records ever made: each has the next number. */
  made = 0;
  /** Inner time of the last snapshot. */
  savedAt = this.time.now;
  /** When windows began without knowing the last minute; records made within that minute begin half full. */
  halfFullSince = Number.NEGATIVE_INFINITY;

  constructor(options: WindowStoreOptions) {
    if (options.scopes.length < 2 || options.scopes.length > 3)
      throw new RangeError('A family has two or three scopes.');
    this.name = options.owner === undefined ? options.name : `${options.name}@${options.owner}`;
    this.scopes = options.scopes;
    this.tierOf = options.tierOf;
    this.report = options.report ?? (() => {});
    this.plans = new Plans(this.slab, options.scopes.length, options.plans);
    this.records = options.scopes.map(() => new Map<string, WindowRecord>());
  }

  /** Number of the organization's scope. */
  get top(): number {
    return this.scopes.length - 1;
  }

  /** Records of all scopes. */
  get size(): number {
    return this.records.reduce((sum, { size }) => sum + size, 0);
  }

  find(scope: number, id: string): WindowRecord | undefined {
    return this.records[scope]?.get(id);
  }

  /** Every record, keys first; also while records come and go. */
  *all(): Generator<WindowRecord, undefined> {
    for (const records of this.records) yield* records.values();
    return undefined;
  }

  /** Notes that a record is to be in the next snapshot. */
  changed(record: WindowRecord): void {
    if (record.unsaved) return;
    record.unsaved = true;
    this.unsaved.add(record);
  }
}
