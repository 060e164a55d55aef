import { type EventStore, type Recorded, StoreDamaged, StoreUnavailable } from '../store/store.ts';

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
  /** Everything up to here was somebody else's; where it is not given, the checkpoint's own position. */
  readonly passed?: string;
}

/** The checkpoint of one follower, with the version of the follower that wrote it. */
export interface KeptCheckpoint extends Checkpoint {
  readonly version: number;
  /** The rows that it belongs to are being made again beside the others: they show nobody anything until it has met those. */
  readonly isApart?: true;
}

/** Of places in the global order; null before the first event. */
export const isBefore = (a: bigint | null, b: bigint | null): boolean => b !== null && (a === null || a < b);

/** What a follower goes on behind. */
export const placeOf = ({ passed, position }: Checkpoint): bigint => BigInt(passed ?? position);

/** Whether an event is one of ours that the store never removes, by its age or on demand. */
export type Lasts = (event: Recorded) => boolean;

export const allLast: Lasts = () => true;

const markOf = ({ position, id }: Recorded): Mark => ({ position: String(position), eventId: id });

/**
 * The checkpoint of who has handled `mine` beyond `before`; undefined where it has never met an event of ours.
 * @param end what else there was up to here was somebody else's
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

/**
 * The checkpoint of who wants nothing of what is there; undefined where nothing of ours is. It names an event that stays: one
 * that is removed could not be found again.
 */
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

/** So many events are looked at, at most, to learn whether a log is the one that was followed. */
const maxLookedAt = 100_000;

/**
 * Why a checkpoint cannot be carried on from, or undefined where it can. Without this a follower of a restored backup
 * would wait for ever: a store says nothing to a position beyond its end.
 *
 * An event that may be removed proves nothing by being gone. Then the log is the same where the last event before it that
 * stays is in its place, and between the two there is none that stays.
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

/** Whether an event is in its place and no other that stays comes up to a position, which is not the end of the log. */
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

/** `whyUnfit` for the followers of one log, most of which stand at the same event: each place is looked up once. */
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
