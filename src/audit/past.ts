import type { CorruptStream } from '../kernel/aggregate/fold.ts';
import type { CallOptions, EventStore } from '../kernel/store/store.ts';
import { type Moment, NoHistory, replayOf, type Step, standingAt, takenBy } from './history.ts';

/** Replays each aggregate once, however often it is asked for. */
export interface Past {
  /** Its steps, oldest first, up to the first corrupt event; empty if it never existed. */
  life(id: string): Promise<readonly Step[]>;
  /** Its state at a time in milliseconds; undefined if it did not exist then. */
  at(id: string, time: number): Promise<Step | undefined>;
  isCorrupt(id: string): boolean;
}

const lanes = 32;

interface PastOptions extends CallOptions {
  /** Called for each corrupt stream; without it, `life` rejects with the corruption. */
  readonly onCorrupt?: (found: CorruptStream) => void;
}

export const pastOf = (store: EventStore, { onCorrupt, ...options }: PastOptions = {}): Past => {
  const lives = new Map<string, Promise<readonly Step[]>>();
  const corrupted = new Set<string>();
  const replay = async (id: string): Promise<readonly Step[]> => {
    const { life, corrupt } = await replayOf(store, id, options);
    if (corrupt) {
      if (!onCorrupt) throw corrupt;
      corrupted.add(id);
      onCorrupt(corrupt);
    }
    return life;
  };
  const life = (id: string): Promise<readonly Step[]> => {
    const known = lives.get(id);
    if (known) return known;
    const read = replay(id).catch((error: unknown) => {
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
    isCorrupt: (id) => corrupted.has(id),
  };
};

export const noHistoryOf = (past: Past, id: string): NoHistory =>
  new NoHistory(past.isCorrupt(id) ? `Nothing of ${id} can be told.` : `There is no ${id} in this store.`);

/** The state at a moment; by default the last. After a corrupt event: the state before it. @throws NoHistory */
export const standingOf = async (past: Past, id: string, moment?: Moment): Promise<Step> => {
  const life = await past.life(id);
  const last = life.at(-1);
  if (!last) throw noHistoryOf(past, id);
  const isBehind = moment !== undefined && 'revision' in moment && moment.revision > last.revision;
  return isBehind && past.isCorrupt(id) ? last : standingAt(life, moment);
};

/** Maps with `lanes` calls in parallel and keeps the order. */
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
