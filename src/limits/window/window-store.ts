import { randomInt } from 'node:crypto';
import type { Millis } from '../../clock.ts';
import type { FamilyLimits } from '../tiers/window-limits.ts';
import { AttemptJournal } from './attempt-journal.ts';
import { ChangeList } from './change-list.ts';
import { Kinds } from './kinds.ts';
import { secondMs, tenMinutesMs } from './layout.ts';
import { Slab } from './slab.ts';
import { noHandle, Slots } from './slots.ts';
import { Tickets } from './ticket.ts';

/** Scopes by their names on the wire, from the innermost; the last is the organization. */
export type ScopeName = 'key' | 'credential' | 'project' | 'organization';

/**
 * Who is counted. Keep one object per credential, beside its principal: it remembers where the records are, and is
 * renewed when they have gone. Only what every request reads lies in it; of a million of them few are in a cache.
 */
export interface LimitSubject {
  /** Where the three records are, with the limits in force, as long as the epoch of the store's slots is this. */
  epoch: number;
  /** The key's handle in one word, for the journal. */
  tag: number;
  keyAt: number;
  projectAt: number;
  organizationAt: number;
  readonly owner: Owner;
}

/** Whose records they are. */
export interface Owner {
  readonly key: string;
  /** Null where the family has no such scope. */
  readonly project: string | null;
  readonly organization: string;
  /** Handle of the key's record; while it is sound, so are the slots of the two others. */
  handle: number;
}

/** A `LimitSubject` of which nothing is known yet. */
export const limitSubject = (key: string, project: string | null, organization: string): LimitSubject => ({
  epoch: -1,
  tag: 0,
  keyAt: -1,
  projectAt: -1,
  organizationAt: -1,
  owner: { key, project, organization, handle: noHandle },
});

/** What should never happen and has; for a log and a metric. */
export type Trouble =
  /** A ticket was settled or released again; nothing was changed. */
  | { readonly kind: 'ticket_ended_twice'; readonly ticket: number }
  /** Tokens were settled for a request that had reserved none; its slot was released, the tokens were not counted. */
  | { readonly kind: 'settled_unreserved'; readonly ticket: number; readonly tokens: number }
  /** A ticket outlived the longest request; the sweep gave its concurrency back and left its reservation to age out. */
  | {
      readonly kind: 'ticket_forgotten';
      readonly ticket: number;
      readonly key: string;
      readonly organization: string;
      readonly ageMs: Millis;
    };

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

/** Starts inner time above a day, so that windows from before the start have ticks that are not negative. */
const base = 10 * 86_400_000;

/**
 * The sliding windows of one family: memory, slots, tickets and the time. The operations are in files of their own.
 * Nothing here waits or allocates per request.
 */
export class WindowStore {
  readonly name: string;
  readonly scopes: readonly ScopeName[];
  /** Number of the organization's scope. */
  readonly top: number;
  readonly tierOf: (organization: string) => number;
  readonly report: (trouble: Trouble) => void;
  readonly kinds: Kinds;
  readonly slab = new Slab();
  readonly slots: Slots;
  readonly tickets = new Tickets();
  readonly changes = new ChangeList();
  readonly journal = new AttemptJournal();
  /** Tells the snapshots of one process from those of another, whose slots are other records. */
  readonly run = randomInt(2 ** 32);

  /** Inner monotonic time: whole milliseconds, never going back; and the parts of it that records keep. */
  now = base;
  /** `now` modulo 2^32. */
  ms = base | 0;
  second = base / secondMs;
  tenMinutes = base / tenMinutesMs;
  #nextSecond = base + secondMs;

  /** What `resolve` or `locate` has found: addresses of the three records; -1 for a project that there is none of. */
  keyAt = -1;
  projectAt = -1;
  organizationAt = -1;

  /** What `warm` has read; it means nothing. */
  warmed = 0;
  /** `now` of the last snapshot. */
  savedAt = base;
  /** When windows began without knowing the last minute; records made within that minute begin half full. */
  cautiousSince = Number.NEGATIVE_INFINITY;
  /** Where the sweep of slots goes on. */
  sweepCursor = 0;

  constructor(options: WindowStoreOptions) {
    if (options.scopes.length < 2 || options.scopes.length > 3)
      throw new RangeError('A family has two or three scopes.');
    if (options.plans.some((plan) => plan.length !== options.scopes.length)) {
      throw new RangeError('Every plan has limits for every scope.');
    }
    this.name = options.owner === undefined ? options.name : `${options.name}@${options.owner}`;
    this.scopes = options.scopes;
    this.top = options.scopes.length - 1;
    this.tierOf = options.tierOf;
    this.report = options.report ?? (() => {});
    this.kinds = new Kinds(options.plans);
    this.slots = new Slots(options.scopes.length);
  }

  /** Moves inner time on to `nowMs` of the monotonic clock; a time that is not later, or no number, changes nothing. */
  setNow(nowMs: Millis): void {
    const now = Math.floor(nowMs) + base;
    if (!(now > this.now)) return;
    this.now = now;
    this.ms = now | 0;
    if (now < this.#nextSecond) return;
    this.second = Math.floor(now / secondMs);
    this.tenMinutes = Math.floor(now / tenMinutesMs);
    this.#nextSecond = (this.second + 1) * secondMs;
  }
}
