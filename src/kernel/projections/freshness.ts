import type { Clock, Millis } from '../../clock.ts';
import type { LogMark } from '../followers/log-mark.ts';
import type { Table } from '../rows/rows.ts';
import { type EventStore, type HeadPoll, headPollMs } from '../store/store.ts';
import type { ReadModels } from './projection.ts';

/** How far what some tables show may be behind what is (contract K.1). */
export interface Age {
  /** They show everything that had happened so many milliseconds ago; it grows from look to look. */
  readonly ageMs: Millis;
  /** They are behind: what they do not show may be there. */
  readonly isBehind: boolean;
  /** They are older than anybody wants to rely on. */
  readonly isTooOld: boolean;
}

export interface Freshness extends Age {
  /** Of the tables that are relied on. */
  readonly reliedOn: Age;
}

/** Behind by more than this, beyond the time between two looks, is behind. */
const graceMs = 500;
/** A look that has not been caught up with by then is of no more interest: later ones are. */
const forgetMs = 60_000;

type Models = Pick<ReadModels, 'position' | 'positionOf' | 'reached' | 'stopped' | 'tables'>;

/**
 * Compares each look at the end of the log with how far the read models have come: whoever has passed that end knows what
 * there was when it was asked for. What answers behind a lost connection may be another log: until that is known, no look counts.
 */
export const freshness = (options: {
  readonly store: Pick<EventStore, 'onHeadPoll'>;
  readonly models: Models;
  readonly clock: Clock;
  /** Of these it is said by itself how old they are: that others stand still does not make them older. */
  readonly reliedOn: readonly Table<object>[];
  /** How old they may be and still be relied on; without it, however old. */
  readonly mostMs?: Millis | undefined;
  readonly mark: Pick<LogMark, 'isDoubted' | 'whyAnother'>;
  /** Told, once for each such log, that what the models hold is not in it. Until it resolves they hold neither. */
  readonly replaced: (why: string) => Promise<void>;
}): Freshness & {
  /** Somebody else has found out that another log is there. */
  replaced(why: string): void;
  close(): void;
} => {
  const { store, models, clock, mostMs, mark } = options;
  const all = ageOf(models.tables, models, clock, mostMs);
  const reliedOn = ageOf(options.reliedOn, models, clock, mostMs);
  let isChecking = false;
  let isBetweenLogs = false;
  /** Why what the models hold, or are about to, is of another log. */
  let found: string | undefined;

  const leave = async (): Promise<void> => {
    isBetweenLogs = true;
    try {
      while (found !== undefined) {
        const why = found;
        found = undefined;
        all.forget();
        reliedOn.forget();
        await options.replaced(why);
      }
    } finally {
      isBetweenLogs = false;
    }
  };
  const replaced = (why: string): void => {
    found = why;
    if (!isBetweenLogs) void leave();
  };
  const check = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    try {
      const why = await mark.whyAnother();
      if (why !== undefined && !isBetweenLogs) replaced(why);
    } catch {
      // The store is away again: the next look asks.
    }
    isChecking = false;
  };

  const seen = ({ askedAt, end }: HeadPoll): void => {
    if (isBetweenLogs) return;
    if (mark.isDoubted) {
      void check();
      return;
    }
    all.seen({ askedAt, end });
    reliedOn.seen({ askedAt, end });
  };
  const close = store.onHeadPoll(seen);
  return Object.assign(all.age, { reliedOn: reliedOn.age, replaced, close });
};

const ageOf = (tables: readonly Table<object>[], models: Models, clock: Clock, mostMs: Millis | undefined) => {
  const isPassed = (end: bigint): boolean => end === 0n || (models.positionOf(tables) ?? -1n) >= end;
  // Whoever is open and goes on has caught up with all that there was.
  let knownAt =
    models.stopped.length > 0 && !isPassed(models.position ?? 1n) ? Number.NEGATIVE_INFINITY : clock.monotonic();
  const age: Age = {
    get ageMs() {
      return clock.monotonic() - knownAt;
    },
    get isBehind() {
      return clock.monotonic() - knownAt > headPollMs + graceMs;
    },
    get isTooOld() {
      return mostMs !== undefined && clock.monotonic() - knownAt > mostMs;
    },
  };
  return {
    age,
    seen({ askedAt, end }: HeadPoll): void {
      const known = (): void => {
        knownAt = Math.max(knownAt, askedAt);
      };
      if (isPassed(end)) known();
      else void models.reached(end, forgetMs, tables).then((isReached) => isReached && known());
    },
    forget(): void {
      knownAt = Number.NEGATIVE_INFINITY;
    },
  };
};
