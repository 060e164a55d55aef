import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Clock, Millis } from '../../clock.ts';
import { connectionOf } from './client-internals.ts';
import { within } from './retry-policy.ts';

/** What is used of the client. */
export type Client = Pick<
  EventStoreDBClient,
  'appendToStream' | 'readStream' | 'readAll' | 'subscribeToAll' | 'setStreamMetadata' | 'deleteStream' | 'dispose'
>;

/**
 * Weir itself has left the connection that something was open on. Its outcome is unknown, and that says nothing of the
 * store.
 */
export class Abandoned extends Error {}

/** The one owner of the client: nobody else holds one for longer than a call. */
export interface Owner {
  readonly client: Client;
  /**
   * The outcome of one call, `late()` where it takes longer than `ms`, or `Abandoned` where the client is replaced first. In
   * the last two cases the outcome is unknown.
   */
  attempt<T>(call: (client: Client) => Promise<T>, ms: Millis, late: () => Error): Promise<T>;
  /** Told before the client is disposed of: what it has open is lost. The returned function forgets it. */
  onLoss(lose: (why: Error) => void): () => void;
  /** Whether discovery has chosen the node that the client at hand goes to. False where there is nothing to choose. */
  hasChosen(): Promise<boolean>;
  /**
   * Puts a new client in the place of one that cannot heal, where it is due.
   * @param atOnce what the client has chosen or keeps in mind is what is wrong: more time would be of no use to it
   */
  replace(why: string, atOnce: boolean): void;
  close(): Promise<void>;
}

/**
 * A client that has not found its store has so long to itself: discovery takes that, and one that was replaced every 2 s
 * never connected (measured).
 */
const ownTimeMs = 5_000;

/** Longest wait for the client to end its streams: one whose reader stands still in the middle never does. */
const disposeMs = 500;

/** What the client leaves open when it is disposed of: its connection. */
const hangUp = async (old: Client): Promise<void> => {
  await connectionOf(old)?.then(
    (channel) => channel.close(),
    () => {},
  );
};

/**
 * Makes the client and replaces it. The package keeps some failures for ever: once its discovery has given up while an
 * append asked for the server's features, every later append of that client fails, although its reads work again.
 * @param isDiscovered the clients ask a host which node to go to
 */
export const ownerOf = (make: () => Client, clock: Clock, isDiscovered = false): Owner => {
  let client = make();
  let madeAt = clock.monotonic();
  const losing = new Set<(why: Error) => void>();
  const disposing = new Set<Promise<unknown>>();
  let closed = false;

  const dispose = (old: Client): Promise<void> =>
    within(disposeMs, old.dispose(), () => new Error('the client was not disposed of in time')).catch(() => {});

  const loseAll = (why: Error): void => {
    for (const lose of [...losing]) lose(why);
  };

  return {
    get client() {
      return client;
    },
    attempt(call, ms, late) {
      let forget = (): void => {};
      const lost = new Promise<never>((_, reject) => {
        losing.add(reject);
        forget = () => losing.delete(reject);
      });
      return within(ms, Promise.race([call(client), lost]), late).finally(forget);
    },
    onLoss(lose) {
      losing.add(lose);
      return () => losing.delete(lose);
    },
    async hasChosen() {
      if (!isDiscovered) return false;
      const chosen = connectionOf(client)?.then(
        () => true,
        () => false,
      );
      return Promise.race([chosen ?? false, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
    },
    replace(why, atOnce) {
      if (closed || (!atOnce && clock.monotonic() - madeAt < ownTimeMs)) return;
      const old = client;
      client = make();
      madeAt = clock.monotonic();
      // The pending appends of a thread lie in one place: those of the old client are given up before it is disposed of.
      loseAll(new Abandoned(why));
      const disposed = dispose(old)
        // Where discovery goes on there is nothing yet to close, and nobody waits for it.
        .then(() => void hangUp(old))
        .finally(() => disposing.delete(disposed));
      disposing.add(disposed);
    },
    async close() {
      closed = true;
      await Promise.all([dispose(client), ...disposing]);
    },
  };
};

/** Opens a stream of the client at hand, which ends with an error when that client is replaced. */
export const openStream = <
  T extends { on(event: 'close', listener: () => void): unknown; destroy(why: Error): unknown },
>(
  owner: Owner,
  make: (client: Client) => unknown,
): T => {
  const source = make(owner.client) as T;
  source.on(
    'close',
    owner.onLoss((why) => source.destroy(why)),
  );
  return source;
};
