import type { CallOptions, EventStore } from '../kernel/store.ts';
import { lifeOf, type Moment, NoHistory, type Step, standingAt, takenBy } from './history.ts';

/** What there was, each aggregate read and replayed once however often it is asked for. */
export interface Past {
  /** Every step of its life, oldest first; none where it never was. */
  life(id: string): Promise<readonly Step[]>;
  /** Where it stood at a time in milliseconds; undefined where it did not exist then. */
  at(id: string, time: number): Promise<Step | undefined>;
}

/** Streams that are read side by side. */
const lanes = 32;

export const pastOf = (store: EventStore, options: CallOptions = {}): Past => {
  const lives = new Map<string, Promise<readonly Step[]>>();
  const life = (id: string): Promise<readonly Step[]> => {
    const known = lives.get(id);
    if (known) return known;
    const read = lifeOf(store, id, options).catch((error: unknown) => {
      if (error instanceof NoHistory) return [];
      throw error;
    });
    lives.set(id, read);
    return read;
  };
  return {
    life,
    async at(id, time) {
      const steps = await life(id);
      return steps[takenBy(steps, { time }) - 1];
    },
  };
};

/** Where it stood at a moment; without one, where it stands. @throws NoHistory where it never was, or did not exist then */
export const standingOf = async (past: Past, id: string, moment?: Moment): Promise<Step> => {
  const life = await past.life(id);
  if (life.length === 0) throw new NoHistory(`There is no ${id} in this store.`);
  return standingAt(life, moment);
};

/** The results of one question about each of many, in their order. */
export const ofEach = async <T, R>(all: readonly T[], ask: (one: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = new Array(all.length);
  const queue = all.entries();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const [i, one] of queue) results[i] = await ask(one);
    }),
  );
  return results;
};
