import { randomInt } from 'node:crypto';
import type { Millis } from '../../clock.ts';
import { noOwnLimits, type OwnLimits, type OwnLimitsSource } from '../own-limits.ts';
import { Plans } from '../record/kind.ts';
import type { ScopeName } from '../record/metrics.ts';
import type { WindowRecord } from '../record/record.ts';
import { Slab } from '../record/slab.ts';
import { WindowTime } from '../record/time.ts';
import type { FamilyLimits } from '../record/window-limits.ts';
import { AttemptJournal } from './attempt-journal.ts';
import { Tickets } from './ticket.ts';

/** Who is counted. Keep one object per credential, because it caches the key's record. */
export interface LimitSubject {
  /** The cached record of the key; `recordOf` looks again when it was freed. */
  record: WindowRecord | null;
  readonly key: string;
  /** Null where the family has no such scope. */
  readonly project: string | null;
  readonly organization: string;
}

export const limitSubject = (key: string, project: string | null, organization: string): LimitSubject => ({
  // First, so that it is in the object's own cache line.
  record: null,
  key,
  project,
  organization,
});

/** Errors of callers, for the log and a metric. */
export type Trouble = {
  readonly key: string;
  readonly organization: string;
} & (
  | /** A ticket was ended again; nothing was changed. */ { readonly kind: 'ticket_ended_twice' }
  /** Tokens were settled without a reservation; they were not counted. */
  | { readonly kind: 'settled_unreserved'; readonly tokens: number }
  /** A ticket outlived the longest request; its reservation ages out. */
  | { readonly kind: 'ticket_forgotten'; readonly ageMs: Millis }
);

export interface WindowStoreOptions {
  /** Name of the family in snapshots, which other families refuse. */
  readonly name: string;
  /** Id of the event log; snapshots of other logs are refused. */
  readonly owner?: string;
  readonly scopes: readonly ScopeName[];
  /** Limits by tier. */
  readonly plans: readonly FamilyLimits[];
  /** Index of an organization's tier in `plans`. Called when its record is made. */
  readonly tierOf: (organization: string) => number;
  /** None by default. */
  readonly own?: OwnLimitsSource | undefined;
  readonly report?: (trouble: Trouble) => void;
}

/** A project's windows for one model. */
export interface ModelWindow {
  /** Null once its limits were taken away; the record then stays until it is empty, because requests are counted in it. */
  own: OwnLimits | null;
  /** Null until its first request, and when it was freed. */
  record: WindowRecord | null;
}

/** The sliding windows of one family; the operations are in files of their own. */
export class WindowStore {
  readonly name: string;
  /** From the innermost to the organization. */
  readonly scopes: readonly ScopeName[];
  readonly tierOf: (organization: string) => number;
  readonly own: OwnLimitsSource;
  readonly report: (trouble: Trouble) => void;
  readonly plans: Plans;
  readonly time = new WindowTime();
  readonly slab = new Slab();
  readonly records: readonly Map<string, WindowRecord>[];
  /** By project, while it has a record, and model: a field of each record would take memory of every key. */
  readonly models = new Map<string, Map<string, ModelWindow>>();
  readonly tickets = new Tickets();
  readonly journal = new AttemptJournal();
  /** Records for the next snapshot, besides the attempts in the journal. */
  readonly unsaved = new Set<WindowRecord>();
  /** Limits may be shown that the windows have not been told of: tells them. Called for each request; null when there are none. */
  lookAgain: (() => void) | null = null;
  /** Identifies this process in snapshots, because record numbers differ between processes. */
  readonly run = randomInt(2 ** 32);
  /** Number of the next record. */
  made = 0;
  /** `time.now` of the last snapshot. */
  savedAt = this.time.now;
  /** Start without knowledge of the last minute; records made within a minute of it begin half full. */
  halfFullSince = Number.NEGATIVE_INFINITY;

  constructor(options: WindowStoreOptions) {
    if (options.scopes.length < 2 || options.scopes.length > 3)
      throw new RangeError('A family has two or three scopes.');
    this.name = options.owner === undefined ? options.name : `${options.name}@${options.owner}`;
    this.scopes = options.scopes;
    this.tierOf = options.tierOf;
    this.own = options.own ?? noOwnLimits;
    this.report = options.report ?? (() => {});
    this.plans = new Plans(this.slab, options.scopes.length, options.plans);
    this.records = options.scopes.map(() => new Map<string, WindowRecord>());
  }

  /** The organization's scope. */
  get top(): number {
    return this.scopes.length - 1;
  }

  get size(): number {
    let size = 0;
    for (const _ of this.#ofModels()) size++;
    return this.records.reduce((sum, records) => sum + records.size, size);
  }

  find(scope: number, id: string): WindowRecord | undefined {
    return this.records[scope]?.get(id);
  }

  /** The inner before the outer ones. Records may come and go meanwhile. */
  *all(): Generator<WindowRecord, undefined> {
    yield* this.records[0]!.values();
    yield* this.#ofModels();
    for (const records of this.records.slice(1)) yield* records.values();
    return undefined;
  }

  *#ofModels(): Generator<WindowRecord> {
    for (const models of this.models.values()) {
      for (const { record } of models.values()) if (record !== null) yield record;
    }
  }

  /** Marks a record for the next snapshot. */
  changed(record: WindowRecord): void {
    if (record.unsaved) return;
    record.unsaved = true;
    this.unsaved.add(record);
  }
}
