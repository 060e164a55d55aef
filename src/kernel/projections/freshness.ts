import type { Clock, Millis } from '../../clock.ts';
import type { LogMark } from '../followers/log-mark.ts';
import type { Table } from '../rows/rows.ts';
import { type EventStore, type HeadPoll, headPollMs } from '../store/store.ts';
import type { ReadModels } from './projection.ts';

/** How far behind the log some tables may be (contract K.1). */
export interface Age {
  /** The tables show everything that had happened this long ago. */
  readonly ageMs: Millis;
  /** What the tables do not show may exist. */
  readonly isBehind: boolean;
  readonly isTooOld: boolean;
}

export interface Freshness extends Age {
  /** Of the tables that credentials are judged by. */
  readonly reliedOn: Age;
}

/** Tables are behind at this age beyond the time between two head polls. */
const graceMs = 500;
/** Later polls replace one that takes longer. */
const forgetMs = 60_000;

type Models = Pick<ReadModels, 'position' | 'positionOf' | 'reached' | 'stopped' | 'tables'>;

/**
 * Compares each head poll with the read models: tables that have passed the polled end show everything up to the time of the
 * poll. After a lost connection no poll counts until it is known that the log is the same.
 */
export const freshness = (options: {
  readonly store: Pick<EventStore, 'onHeadPoll'>;
  readonly models: Models;
  readonly clock: Clock;
  /** Their age is given separately, so that other halted tables do not count. */
  readonly reliedOn: readonly Table<object>[];
  readonly mostMs?: Millis | undefined;
  readonly mark: Pick<LogMark, 'isDoubted' | 'whyAnother'>;
  /** Called once for each other log; the models hold neither log until it resolves. */
  readonly replaced: (why: string) => Promise<void>;
}): Freshness & {
  replaced(why: string): void;
  close(): void;
} => {
  const { store, models, clock, mostMs, mark } = options;
  const all = ageOf(models.tables, models, clock, mostMs);
  const reliedOn = ageOf(options.reliedOn, models, clock, mostMs);
  let isChecking = false;
  let isBetweenLogs = false;
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
      // The store is unavailable again: the next poll repeats this.
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
  // Open read models that have not halted have caught up with the log.
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
