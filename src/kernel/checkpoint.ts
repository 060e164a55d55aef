import { type EventStore, StoreDamaged, StoreUnavailable } from './store.ts';

/** How far a follower of the log has come, and on which log. */
export interface Checkpoint {
  readonly logId: string;
  /** Position of the last event handled, as a decimal string. */
  readonly position: string;
  readonly eventId: string;
}

/**
 * Why a checkpoint cannot be carried on from, or undefined where it can. Without this a follower of a restored backup
 * would wait for ever: a store says nothing to a position beyond its end.
 */
export const whyUnfit = async (
  checkpoint: Checkpoint,
  store: EventStore,
  logId: string,
): Promise<string | undefined> => {
  if (checkpoint.logId !== logId) return 'it belongs to another log';
  try {
    const at = { from: BigInt(checkpoint.position), direction: 'forwards', limit: 1 } as const;
    for await (const event of store.readAll(at)) {
      return event.id === checkpoint.eventId ? undefined : 'the log has another event at its place';
    }
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StoreDamaged) throw error;
    return 'the log has no event at its place';
  }
  return 'the log ends before its place';
};
