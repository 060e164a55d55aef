import type { Millis } from '../../clock.ts';
import type { Budget } from './budget.ts';

// The port to the event store. `src/eventstoredb/` implements it for EventStoreDB and KurrentDB; tests use one in memory.

export interface Metadata {
  /** Wall time of the command in milliseconds. */
  readonly at: number;
  readonly actor: Actor;
  readonly request_id?: string;
  readonly ip?: string;
  readonly user_agent?: string;
  readonly $correlationId: string;
  readonly $causationId: string;
  readonly v: number;
  /** The hash of the event before (`hashOf`), on all but the first event of an aggregate. Records have none. */
  readonly prev?: string;
}

/** Who acted: an API key, an OAuth client, the operator at the machine, or Weir itself (contract C.6, audit entry). */
export interface Actor {
  readonly type: 'api_key' | 'oauth_client' | 'operator' | 'system';
  readonly id: string;
  /** Of an operator, whose id is the OS user: the machine, and the command without its arguments. */
  readonly host?: string;
  readonly command?: string;
  /** Given by the operator as `--actor` and `--reason`. */
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
  /** Place in the global order; grows, with gaps. */
  readonly position: bigint;
}

export interface CallOptions {
  /** Of a command. Default: a new one. */
  readonly budget?: Budget | undefined;
  /**
   * Makes the call once, on one connection, to the leader; a loss is `StoreUnavailable`. After a reconnection an older copy of
   * the log may answer, and a follower may have less of it.
   */
  readonly once?: boolean;
}

export type StoreState =
  | { readonly is: 'there' }
  /** Was there before. `refuses`: the store denies the user rights. `why` may then be shown to anybody. */
  | { readonly is: 'lost'; readonly why: string; readonly refuses: boolean }
  | { readonly is: 'unknown'; readonly why: string };

/** Pause between two polls of the end of the log (contract K.1). */
export const headPollMs: Millis = 500;

/** One poll of the end of the log, which had no event beyond `end` at `askedAt`. */
export interface HeadPoll {
  /** Monotonic. */
  readonly askedAt: Millis;
  /** Position of the newest event, the store's own included; 0 for an empty log. */
  readonly end: bigint;
}

/** The revision that the stream must have. `any` is not offered, because its repeat can write twice. */
export type Expected = number | 'no_stream';

export interface Appended {
  readonly revision: number;
  readonly position: bigint;
}

export interface Subscription {
  close(): Promise<void>;
}

export interface SubscribeOptions {
  /** Exclusive; null: from the first event. */
  readonly after: bigint | null;
  /** Never empty, in order, one call at a time. A rejection ends the subscription with `failed`. */
  readonly deliver: (batch: readonly Recorded[]) => Promise<void>;
  readonly caughtUp?: () => void;
  /** Called at each loss of the connection and each new one: another log may answer. */
  readonly doubted?: () => void;
  /** Called when the subscription cannot continue (rejected delivery, damage, refused credentials), not for a lost connection. */
  readonly failed: (error: Error) => void;
}

export interface EventStore {
  /**
   * Appends all events or none. While the outcome is unknown it is repeated with the same ids until the time is up.
   * @throws WrongRevision when the stream is elsewhere and these events are not there
   * @throws StoreDamaged when data needed for it is damaged or deleted for good; reads too
   * @throws StoreUnavailable when the outcome is unknown; at once while the store is known to take nothing
   */
  append(stream: string, events: readonly NewEvent[], expected: Expected, options?: CallOptions): Promise<Appended>;
  /** Events in order from `from` (default 0), `limit` at most; none where the stream does not exist. */
  read(
    stream: string,
    options?: CallOptions & { readonly from?: number; readonly limit?: number },
  ): AsyncIterable<Recorded>;
  /** Hides events older than `seconds`, and removes them in time. */
  limitAge(stream: string, seconds: number, options?: CallOptions): Promise<void>;
  /** Hides every event of the stream, if there is one. */
  remove(stream: string): Promise<void>;
  /**
   * Events of the global order, the store's own (`$`) only with `withOwn`. Forwards includes `from`, backwards excludes it.
   * @throws NoSuchPosition
   */
  readAll(options: {
    readonly once?: boolean;
    readonly from: bigint | 'start' | 'end';
    readonly direction: 'forwards' | 'backwards';
    readonly limit: number;
    readonly withOwn?: boolean;
  }): AsyncIterable<Recorded>;
  /** Every event, the store's own included, past and live; resumes after a lost connection. */
  subscribe(options: SubscribeOptions): Subscription;
  /** Checks without writing that the user has all rights that Weir needs. @throws StoreRefuses with the missing right */
  proveRights(): Promise<void>;
  readonly state: StoreState;
  /** Calls back after each successful poll of the end of the log. The returned function ends it. */
  onHeadPoll(listener: (poll: HeadPoll) => void): () => void;
  close(): Promise<void>;
}

/** The stream has another revision; `actual` is null where it does not exist. */
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

/** The store found data that is not what was written. */
export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
}

/** The stream has a tombstone: nothing can be read or written there any more. */
export class StreamDeleted extends StoreDamaged {
  constructor(stream: string, cause?: unknown) {
    super(`Somebody has deleted the stream ${stream} of the event store for good: restore a backup of before.`, {
      cause,
    });
  }
}

/** No event begins at the position of a read: the log is another one. */
export class NoSuchPosition extends Error {
  override readonly name = 'NoSuchPosition';
}

/** The store did not answer in time or refuses; the outcome is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The store denies the user a right. The message may be shown to anybody. */
export class StoreRefuses extends StoreUnavailable {}
