import { type EventStore, type Recorded, StoreDamaged, StoreUnavailable } from '../store/store.ts';

/** An event and its place in the global order, as a decimal string. */
export interface Mark {
  readonly position: string;
  readonly eventId: string;
}

/** The last event that a follower has handled, and the log that it is on. */
export interface Checkpoint extends Mark {
  readonly logId: string;
  /** The last event up to there that the store never removes; absent where there was none. */
  readonly lasting?: Mark | undefined;
  /** All events up to here that are behind `position` were foreign. Default: `position`. */
  readonly passed?: string;
}

export interface KeptCheckpoint extends Checkpoint {
  readonly version: number;
  /** Its rows are being rebuilt beside the other projections and cannot be read yet. */
  readonly isApart?: true;
}

/** For positions in the global order; null is before the first event. */
export const isBefore = (a: bigint | null, b: bigint | null): boolean => b !== null && (a === null || a < b);

export const placeOf = ({ passed, position }: Checkpoint): bigint => BigInt(passed ?? position);

/** Whether an event is one of ours that the store never removes, by its age or on demand. */
export type Lasts = (event: Recorded) => boolean;

export const allLast: Lasts = () => true;

const markOf = ({ position, id }: Recorded): Mark => ({ position: String(position), eventId: id });

/**
 * The checkpoint after `mine` beyond `before`; undefined where no event of ours was ever handled.
 * @param end all other events up to here were foreign
 */
export const checkpointAfter = (
  before: Checkpoint | undefined,
  log: { readonly logId: string; readonly lasts: Lasts },
  mine: readonly Recorded[],
  end: bigint,
): Checkpoint | undefined => {
  const last = mine.at(-1);
  if (!last) return before && { ...before, passed: String(end) };
  const lasting = mine.findLast(log.lasts);
  return {
    logId: log.logId,
    ...markOf(last),
    lasting: lasting ? markOf(lasting) : before?.lasting,
    passed: String(end),
  };
};

/** A checkpoint at the end of the log, undefined without events of ours. It names an event that is never removed. */
export const endOfLog = async (
  store: Pick<EventStore, 'readAll'>,
  { logId, lasts }: { readonly logId: string; readonly lasts: Lasts },
): Promise<Checkpoint | undefined> => {
  let newest: Recorded | undefined;
  const all = { from: 'end', direction: 'backwards', limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const event of store.readAll(all)) {
    newest ??= event;
    if (!lasts(event)) continue;
    return { logId, ...markOf(event), lasting: markOf(event), passed: String(newest.position) };
  }
  return undefined;
};

const maxLookedAt = 100_000;

/**
 * Why a follower cannot continue from a checkpoint; undefined where it can. A store is silent about a position beyond its end,
 * so without this check a follower of a restored backup would wait for ever.
 *
 * A missing event that may be removed proves nothing. The log is then the same if the last lasting event before it is in
 * its place and no lasting event is between the two.
 */
export const whyUnfit = async (
  checkpoint: Checkpoint,
  store: Pick<EventStore, 'readAll'>,
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

/** Whether an event is in its place and no other lasting event follows it up to a position before the end of the log. */
const isWhole = async (store: Pick<EventStore, 'readAll'>, from: Mark, end: bigint, lasts: Lasts): Promise<boolean> => {
  let isFirst = true;
  const looked = { from: BigInt(from.position), direction: 'forwards', limit: maxLookedAt } as const;
  for await (const event of store.readAll(looked)) {
    if (event.position > end) return !isFirst;
    if (isFirst ? event.id !== from.eventId : lasts(event)) return false;
    isFirst = false;
  }
  return false;
};

/** `whyUnfit` for many followers, most of which stand at the same event: each place is looked up once. */
export const fitness = (
  store: Pick<EventStore, 'readAll'>,
  logId: string,
  lasts: Lasts,
): ((checkpoint: Checkpoint) => Promise<string | undefined>) => {
  const found = new Map<string, Promise<string | undefined>>();
  return (checkpoint) => {
    const { position, eventId, lasting } = checkpoint;
    const key = `${checkpoint.logId} ${position} ${eventId} ${lasting?.position} ${lasting?.eventId}`;
    const known = found.get(key) ?? whyUnfit(checkpoint, store, logId, lasts);
    found.set(key, known);
    return known;
  };
};
