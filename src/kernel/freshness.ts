import type { Clock, Millis } from '../clock.ts';
import type { ReadModels } from './projection.ts';
import { type EventStore, lookEveryMs, type Sight } from './store.ts';

/** How far what this process knows may be behind what is (contract N13). */
export interface Freshness {
  /** It knows everything that had happened so many milliseconds ago; it grows from look to look. */
  readonly ageMs: Millis;
  /** It is behind: what it does not find may be there. */
  readonly isBehind: boolean;
  /** It is older than anybody wants to rely on. */
  readonly isTooOld: boolean;
}

/** Behind by more than this, beyond the time between two looks, is behind. */
const graceMs = 500;
/** A look that has not been caught up with by then is of no more interest: later ones are. */
const forgetMs = 60_000;

/**
 * Compares each look at the end of the log with how far the read models have come: whoever has passed that end knows what
 * there was when it was asked for. A log that ends before what the models had applied at the look before is another log.
 */
export const freshness = (options: {
  readonly store: Pick<EventStore, 'onSight'>;
  readonly models: Pick<ReadModels, 'position' | 'reached' | 'stopped'>;
  readonly clock: Clock;
  /** How old it may be and still be relied on; without it, however old. */
  readonly mostMs?: Millis | undefined;
  /** Told, once for each such log, that what the models hold is not in it. Until it resolves they hold neither. */
  readonly shortened: () => Promise<void>;
}): Freshness & { close(): void } => {
  const { store, models, clock, mostMs, shortened } = options;
  // Whoever is open and goes on has caught up with all that there was.
  let knownAt = models.stopped ? Number.NEGATIVE_INFINITY : clock.monotonic();
  let before: bigint | null = null;
  let isBetweenLogs = false;

  const seen = ({ askedAt, end }: Sight): void => {
    if (isBetweenLogs) return;
    if (before !== null && end < before) {
      before = null;
      knownAt = Number.NEGATIVE_INFINITY;
      isBetweenLogs = true;
      void shortened().finally(() => {
        isBetweenLogs = false;
      });
      return;
    }
    before = models.position;
    const known = (): void => {
      knownAt = Math.max(knownAt, askedAt);
    };
    if (end === 0n || (models.position !== null && models.position >= end)) known();
    else void models.reached(end, forgetMs).then((isReached) => isReached && known());
  };
  const close = store.onSight(seen);

  return {
    get ageMs() {
      return clock.monotonic() - knownAt;
    },
    get isBehind() {
      return clock.monotonic() - knownAt > lookEveryMs + graceMs;
    },
    get isTooOld() {
      return mostMs !== undefined && clock.monotonic() - knownAt > mostMs;
    },
    close,
  };
};
