import type { CorruptStream } from '../kernel/aggregate/fold.ts';
import type { CallOptions, EventStore } from '../kernel/store/store.ts';
import { type Moment, NoHistory, replayOf, type Step, standingAt, takenBy } from './history.ts';

/** What there was, each aggregate read and replayed once however often it is asked for. */
export interface Past {
  /** Every step of its life, oldest first, up to what the law cannot have admitted; none where it never was. */
  life(id: string): Promise<readonly Step[]>;
  /** Where it stood at a time in milliseconds; undefined where it did not exist then. */
  at(id: string, time: number): Promise<Step | undefined>;
  /** Whether a life that was asked for ends before its stream does. */
  isCorrupt(id: string): boolean;
}

/** Streams that are read side by side. */
const lanes = 32;

interface PastOptions extends CallOptions {
  /** Told of each stream that holds what the law cannot have admitted; without it, whoever asks for its life gets that thrown. */
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

/** That nothing of it can be told. */
export const noHistoryOf = (past: Past, id: string): NoHistory =>
  new NoHistory(past.isCorrupt(id) ? `Nothing of ${id} can be told.` : `There is no ${id} in this store.`);

/**
 * Where it stood at a moment; without one, where it stands. Behind what the law cannot have admitted it stands where it stood before.
 * @throws NoHistory where it never was, or did not exist then
 */
export const standingOf = async (past: Past, id: string, moment?: Moment): Promise<Step> => {
  const life = await past.life(id);
  const last = life.at(-1);
  if (!last) throw noHistoryOf(past, id);
  const isBehind = moment !== undefined && 'revision' in moment && moment.revision > last.revision;
  return isBehind && past.isCorrupt(id) ? last : standingAt(life, moment);
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
