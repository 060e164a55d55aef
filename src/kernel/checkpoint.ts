import { type EventStore, type Recorded, StoreDamaged, StoreUnavailable } from './store.ts';

/** An event and its place in the global order, as a decimal string. */
export interface Mark {
  readonly position: string;
  readonly eventId: string;
}

/** How far a follower of the log has come, and on which log: the last event handled. */
export interface Checkpoint extends Mark {
  readonly logId: string;
  /** The last one up to there that the store never removes; absent where none was met. */
  readonly lasting?: Mark | undefined;
}

/** Whether an event is one of ours that the store never removes, by its age or on demand. */
export type Lasts = (event: Recorded) => boolean;

export const allLast: Lasts = () => true;

/** The last of a batch that stays, or what was so before it. */
export const lastLasting = (batch: readonly Recorded[], lasts: Lasts, before: Mark | undefined): Mark | undefined => {
  const last = batch.findLast(lasts);
  return last ? { position: String(last.position), eventId: last.id } : before;
};

/** So many events are looked at, at most, to learn whether a log is the one that was followed. */
const mostLookedAt = 100_000;

/**
 * Why a checkpoint cannot be carried on from, or undefined where it can. Without this a follower of a restored backup
 * would wait for ever: a store says nothing to a position beyond its end.
 *
 * An event that may be removed proves nothing by being gone. Then the log is the same where the last event before it that
 * stays is in its place, and between the two there is none that stays.
 */
export const whyUnfit = async (
  checkpoint: Checkpoint,
  store: EventStore,
  logId: string,
  lasts: Lasts,
): Promise<string | undefined> => {
  if (checkpoint.logId !== logId) return 'it belongs to another log';
  const { eventId, lasting } = checkpoint;
  const position = BigInt(checkpoint.position);
  try {
    for await (const event of store.readAll({ from: position, direction: 'forwards', limit: 1 })) {
      if (event.id === eventId) return undefined;
      if (event.position === position) return 'the log has another event at its place';
      const isSame =
        lasting !== undefined && lasting.eventId !== eventId && (await isWhole(store, lasting, position, lasts));
      return isSame ? undefined : 'the log has no event at its place';
    }
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StoreDamaged) throw error;
    return 'the log has no event at its place';
  }
  return 'the log ends before its place';
};

/** Whether an event is in its place and no other that stays comes up to a position, which is not the end of the log. */
const isWhole = async (store: EventStore, from: Mark, end: bigint, lasts: Lasts): Promise<boolean> => {
  let isFirst = true;
  const looked = { from: BigInt(from.position), direction: 'forwards', limit: mostLookedAt } as const;
  for await (const event of store.readAll(looked)) {
    if (event.position > end) return !isFirst;
    if (isFirst ? event.id !== from.eventId : lasts(event)) return false;
    isFirst = false;
  }
  return false;
};
