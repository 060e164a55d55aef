import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Clock, Millis } from '../../clock.ts';
import { connectionOf } from './client-internals.ts';
import { within } from './retry-policy.ts';

export type Client = Pick<
  EventStoreDBClient,
  'appendToStream' | 'readStream' | 'readAll' | 'subscribeToAll' | 'setStreamMetadata' | 'deleteStream' | 'dispose'
>;

/** Weir has left the connection, so the outcome is unknown. Says nothing about the store. */
export class Abandoned extends Error {}

/** Owns the client; other code uses it only for the time of a call. */
export interface Owner {
  readonly client: Client;
  /** The result of one call; `late()` after `ms`, or `Abandoned` if the client is replaced first: then the outcome is unknown. */
  attempt<T>(call: (client: Client) => Promise<T>, ms: Millis, late: () => Error): Promise<T>;
  /** Calls back before the client is disposed of. The returned function cancels that. */
  onLoss(lose: (why: Error) => void): () => void;
  /** Whether discovery has chosen a node for the client; false without discovery. */
  hasChosen(): Promise<boolean>;
  /** Replaces a client that cannot recover. @param atOnce even if it is younger than `ownTimeMs` */
  replace(why: string, atOnce: boolean): void;
  close(): Promise<void>;
}

/** Minimum age: discovery takes that long, and clients replaced every 2 s never connected (measured). */
const ownTimeMs = 5_000;

/** Limit for disposal, which does not end while a reader of a stream pauses. */
const disposeMs = 500;

/** Closes the connection, which the client leaves open. */
const hangUp = async (old: Client): Promise<void> => {
  await connectionOf(old)?.then(
    (channel) => channel.close(),
    () => {},
  );
};

/**
 * Makes and replaces the client. Some failures are permanent in it: if discovery fails while an append asks for the server's
 * features, all its later appends fail.
 * @param isDiscovered the clients ask a host which node to use
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
      // A thread's pending appends are in one place, so the old client's are given up before it is disposed of.
      loseAll(new Abandoned(why));
      const disposed = dispose(old)
        // Not awaited: while discovery continues there is no connection to close.
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

/** Opens a stream of the present client; it ends with an error when the client is replaced. */
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
