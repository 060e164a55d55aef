import type { Millis } from '../../clock.ts';
import type { Budget } from './budget.ts';

/**
 * The port to the event store. Two things stand behind it: EventStoreDB or KurrentDB through `src/eventstoredb/`, and an
 * in-memory store in the tests. Positions and revisions are the store's own.
 */

/** Who, when, why and how an event came about. Never part of the data, never a secret. */
export interface Metadata {
  /** Wall time of the command in milliseconds; the store's own `created` is outside of our account. */
  readonly at: number;
  readonly actor: Actor;
  readonly request_id?: string;
  readonly ip?: string;
  readonly user_agent?: string;
  readonly $correlationId: string;
  readonly $causationId: string;
  /** Version of the event's shape. */
  readonly v: number;
  /** Of all but the first event of an aggregate: the hash of the one before (`hashOf`). Records that nobody decides on have none. */
  readonly prev?: string;
}

/** Who acted: an API key, an OAuth client, the operator at the machine, or Weir itself (contract C.6, audit entry). */
export interface Actor {
  readonly type: 'api_key' | 'oauth_client' | 'operator' | 'system';
  readonly id: string;
  /** Of an operator, whose id is the name of the OS user: the machine, and the command without its arguments. */
  readonly host?: string;
  readonly command?: string;
  /** What the operator said: who it is (`--actor`), and why (`--reason`). */
  readonly name?: string;
  readonly reason?: string;
}

export interface NewEvent {
  /** A UUID. The store recognises a repeated append by its ids alone. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Metadata;
}

export interface Recorded extends NewEvent {
  readonly stream: string;
  /** 0 for the first event of its stream. */
  readonly revision: number;
  /** Place in the global order: grows from event to event, with gaps. */
  readonly position: bigint;
}

export interface CallOptions {
  /** Of a command: its own time. Without it a call has as much as one command. */
  readonly budget?: Budget | undefined;
  /**
   * The call is made once, on one connection, to the leader: nothing is repeated or gone on with after a loss, which is
   * `StoreUnavailable`. Whoever answers behind a loss may hold an older copy of the log, and a follower less of it.
   */
  readonly once?: boolean;
}

/** Whether the store takes commands: there is a leader, and a quorum behind it. */
export type StoreState =
  | { readonly is: 'there' }
  /** It was there, and is not; `refuses` where it answers that we may not. Then `why` may be told to anybody. */
  | { readonly is: 'lost'; readonly why: string; readonly refuses: boolean }
  /** It has never answered. */
  | { readonly is: 'unknown'; readonly why: string };

/** The end of the log is looked at so often (contract K.1). */
export const headPollMs: Millis = 500;

/** What one look at the log told: whoever has seen everything up to `end` knows what there was at `askedAt`. */
export interface HeadPoll {
  /** Monotonic. */
  readonly askedAt: Millis;
  /** Position of the newest event of all, the store's own included; 0 for an empty log. */
  readonly end: bigint;
}

/** The revision that the stream must be at, or that it must not exist. `any` is not offered: it can write twice. */
export type Expected = number | 'no_stream';

export interface Appended {
  /** Revision of the last event of the append. */
  readonly revision: number;
  readonly position: bigint;
}

export interface Subscription {
  /** Ends it; resolves when the last delivery has returned. */
  close(): Promise<void>;
}

export interface SubscribeOptions {
  /** Exclusive; null means from the very first event. */
  readonly after: bigint | null;
  /**
   * What has come since the last call, in order, never empty. The next batch waits until this one's promise is settled.
   * A rejection is fatal for the subscription: it ends and `failed` is told.
   */
  readonly deliver: (batch: readonly Recorded[]) => Promise<void>;
  /** Told each time everything known to the store has been delivered. */
  readonly caughtUp?: () => void;
  /** Told of each loss of its connection, and when it has another: behind that another log may answer. */
  readonly doubted?: () => void;
  /** Told when the subscription cannot go on (a rejected delivery, damage, credentials refused); losses of connection are not that. */
  readonly failed: (error: Error) => void;
}

export interface EventStore {
  /**
   * Appends all events or none. An append whose outcome is unknown (time-out, lost connection) is repeated with the same
   * ids until it is known or the time is up.
   * @throws WrongRevision when the stream is not where it was expected to be and these events are not what is there
   * @throws StoreDamaged when what has to be looked at for it is damaged, or was deleted for good; so does every read
   * @throws StoreUnavailable when the outcome could not be learned in time: the events may be there or not; at once while the
   * store is known to take nothing
   */
  append(stream: string, events: readonly NewEvent[], expected: Expected, options?: CallOptions): Promise<Appended>;
  /** The stream's events in order from `from` (default 0), `limit` at most; nothing where there is no such stream. */
  read(
    stream: string,
    options?: CallOptions & { readonly from?: number; readonly limit?: number },
  ): AsyncIterable<Recorded>;
  /** From now on events of the stream that are older than `seconds` are hidden, and in time removed. */
  limitAge(stream: string, seconds: number, options?: CallOptions): Promise<void>;
  /** Hides every event of the stream; nothing happens where there is none. */
  remove(stream: string): Promise<void>;
  /**
   * Events of the global order, without the store's own (`$`) ones unless they are asked for. Forwards from `from` inclusive,
   * backwards from before it.
   * @throws NoSuchPosition
   */
  readAll(options: {
    readonly once?: boolean;
    readonly from: bigint | 'start' | 'end';
    readonly direction: 'forwards' | 'backwards';
    readonly limit: number;
    readonly withOwn?: boolean;
  }): AsyncIterable<Recorded>;
  /** Every event of the global order, the store's own included, from history into live, resumed by itself after any loss of connection. */
  subscribe(options: SubscribeOptions): Subscription;
  /**
   * Finds out whether this user may do all that Weir does there, without writing anything.
   * @throws StoreRefuses with the right that is missing
   */
  proveRights(): Promise<void>;
  readonly state: StoreState;
  /** Told of each look at the end of the log, twice a second while the store is there. The returned function ends it. */
  onHeadPoll(listener: (poll: HeadPoll) => void): () => void;
  close(): Promise<void>;
}

/** The stream had moved on, or was not there. `actual` is null for a stream that does not exist. */
export class WrongRevision extends Error {
  override readonly name = 'WrongRevision';
  readonly stream: string;
  readonly expected: Expected;
  readonly actual: number | null;
  constructor(stream: string, expected: Expected, actual: number | null) {
    super(`${stream} was expected at ${expected} and is at ${actual ?? 'no_stream'}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** The store has come upon something that is not what was written to it; it says so each time it is asked again. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
}

/** Somebody has deleted the stream for good (a tombstone): nothing can be read there or written, ever again. */
export class StreamDeleted extends StoreDamaged {
  constructor(stream: string, cause?: unknown) {
    super(`Somebody has deleted the stream ${stream} of the event store for good: restore a backup of before.`, {
      cause,
    });
  }
}

/** No event begins at the position that a read was to begin with, and none will: the log is another one. */
export class NoSuchPosition extends Error {
  override readonly name = 'NoSuchPosition';
}

/** The store did not answer in time or refuses us; nothing is known about what was asked. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The store answers that we may not, tomorrow as today. What it says may be told to anybody. */
export class StoreRefuses extends StoreUnavailable {}
