import type { Clock, Millis } from '../clock.ts';
import type { ReadModels } from './projection.ts';
import type { EventStore } from './store.ts';

/** How far behind the store the read models may be. */
export interface Freshness {
  /** They show everything that the store knew so long ago. */
  ageMs(): Millis;
  /** Asks the store for the end of its log. @throws StoreUnavailable */
  look(): Promise<void>;
}

/**
 * A subscription that is silent may have nothing to say, or nobody to say it: so the store is asked where its log ends, and
 * rows that have come so far are as new as the question (decisions N10, N13).
 * @param waitMs how long the rows may take to come to that end, before the store is asked again
 */
export const freshness = (options: {
  readonly store: EventStore;
  readonly models: Pick<ReadModels, 'reached'>;
  readonly clock: Clock;
  readonly waitMs: Millis;
}): Freshness => {
  const { store, models, clock, waitMs } = options;
  // Read models that are open have caught up.
  let knownAt = clock.monotonic();
  return {
    ageMs: () => clock.monotonic() - knownAt,
    async look() {
      const asked = clock.monotonic();
      for await (const last of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) {
        if (!(await models.reached(last.position, waitMs))) return;
      }
      knownAt = asked;
    },
  };
};
