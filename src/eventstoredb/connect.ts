import {
  BACKWARDS,
  END,
  ErrorType,
  type EventStoreDBClient,
  excludeSystemEvents,
  FORWARDS,
  type JSONType,
  jsonEvent,
  NO_STREAM,
  type ReadPosition,
  START,
} from '@eventstore/db-client';
import { type Clock, type Millis, systemClock } from '../clock.ts';
import { type Appended, type EventStore, StoreUnavailable } from '../kernel/store.ts';
import { finalError } from './errors.ts';
import { recorded } from './events.ts';
import { guardClient } from './guard.ts';
import { backoff, within } from './patience.ts';
import { reachability } from './reachability.ts';
import { type ReadSource, resumingRead } from './reads.ts';
import { type ResumingSubscription, resumingSubscription, type Source } from './subscription.ts';
import { clientFor, type Target } from './target.ts';
import { trials } from './trial.ts';

export interface ConnectOptions {
  readonly clock?: Clock;
  /** The store may take so long over one append, or be silent so long within a read. Default 4 s. */
  readonly callMs?: Millis;
  /** After so long an outcome that is still unknown is given up. Default 15 s: a frozen leader costs 13.4 s (measured). */
  readonly totalMs?: Millis;
  /** Waits between tries of a call: the first, and what doubling leads to. Default 50 ms to 1 s. */
  readonly retryMs?: readonly [first: Millis, longest: Millis];
  /** Waits before a lost subscription is opened again. Default 0.2 to 30 s. */
  readonly resubscribeMs?: readonly [first: Millis, longest: Millis];
  /** See `Feed` of subscription.ts; default 20 s and 30 s. */
  readonly confirmMs?: Millis;
  readonly silenceMs?: Millis;
  /** Events in one delivery at most; default 512. */
  readonly deliveryCap?: number;
}

/** What is used of the client. */
export type Client = Pick<
  EventStoreDBClient,
  'appendToStream' | 'readStream' | 'readAll' | 'subscribeToAll' | 'setStreamMetadata' | 'deleteStream' | 'dispose'
>;

/** Longest wait for the client to end its streams: one whose reader stands still in the middle never does. */
const disposeMs = 500;

const placed = (position: bigint) => ({ commit: position, prepare: position });

/**
 * The store behind a socket or a connection string. One per thread: the client keeps the pending appends of a whole
 * thread in one place (eventstore.md 1.4). Nothing is asked of the store before the first call.
 * @throws Error for a connection string that cannot be read
 */
export const connect = (target: Target, options: ConnectOptions = {}): EventStore => {
  const client = clientFor(target);
  guardClient(client);
  return storeOver(client, options);
};

const unlessGone = (error: unknown): void => {
  const { type } = error as { type?: string };
  if (type !== ErrorType.WRONG_EXPECTED_VERSION && type !== ErrorType.STREAM_DELETED) throw error;
};

/** The port over a client that is there already; the tests bring one that misbehaves. */
export const storeOver = (client: Client, options: ConnectOptions): EventStore => {
  const { clock = systemClock } = options;
  const subscriptions = new Set<ResumingSubscription>();
  const pending = new Set<Promise<unknown>>();
  let closed = false;
  const reach = reachability({
    clock,
    limits: { callMs: options.callMs ?? 4_000, totalMs: options.totalMs ?? 15_000 },
    isBack() {
      for (const subscription of subscriptions) subscription.hurry();
    },
  });

  const patient = trials({ clock, reach, retryMs: options.retryMs ?? [50, 1_000] });

  const open = (): void => {
    if (closed) throw new StoreUnavailable('the connection to the event store is closed');
  };

  const append: EventStore['append'] = async (stream, events, expected) => {
    // The store calls it a success, without a stream to show for it.
    if (events.length === 0) throw new TypeError(`an append of no events to ${stream}`);
    const batch = events.map(({ id, type, data, metadata }) =>
      jsonEvent({ id, type, data: data as JSONType, metadata: metadata as unknown as JSONType }),
    );
    const expectedRevision = expected === 'no_stream' ? NO_STREAM : BigInt(expected);
    const trial = patient({ stream, expected });
    for (;;) {
      try {
        const call = client.appendToStream(stream, batch, { expectedRevision });
        const late = () => new Error(`no answer to an append to ${stream} within ${trial.callMs} ms`);
        const { nextExpectedRevision, position } = await within(trial.callMs, call, late);
        if (!position) throw new Error(`an append to ${stream} was answered without a position`);
        trial.progress();
        const isSeen = !events.at(-1)!.type.startsWith('$');
        if (isSeen) for (const subscription of subscriptions) subscription.appended(position.commit);
        return { revision: Number(nextExpectedRevision), position: position.commit };
      } catch (error) {
        await trial.failed(error);
      }
    }
  };

  /** A call that may be made any number of times, until it has been answered. */
  const trying = async (stream: string, call: () => Promise<unknown>): Promise<void> => {
    const trial = patient({ stream });
    for (;;) {
      try {
        const late = () => new Error(`no answer about ${stream} within ${trial.callMs} ms`);
        await within(trial.callMs, call(), late);
        trial.progress();
        return;
      } catch (error) {
        await trial.failed(error);
      }
    }
  };

  const reading = (about: { readonly stream?: string }) => {
    const trial = patient(about);
    return { recorded, silenceMs: trial.callMs, patience: trial };
  };

  return {
    append(stream, events, expected): Promise<Appended> {
      const run = (async () => {
        open();
        return append(stream, events, expected);
      })();
      const settled: Promise<unknown> = run.catch(() => {}).then(() => pending.delete(settled));
      pending.add(settled);
      return run;
    },

    async limitAge(stream, seconds) {
      open();
      await trying(stream, () => client.setStreamMetadata(stream, { maxAge: seconds }));
    },

    async remove(stream) {
      open();
      // Nothing there, or gone already, is what was wanted.
      await trying(stream, () => client.deleteStream(stream).catch(unlessGone));
    },

    async *read(stream, { from = 0, limit = Number.MAX_SAFE_INTEGER } = {}) {
      open();
      yield* resumingRead<number>(
        {
          ...reading({ stream }),
          open: (revision, maxCount) =>
            client.readStream(stream, { fromRevision: BigInt(revision), maxCount }) as unknown as ReadSource,
          behind: (event) => event.revision + 1,
          wanted: () => true,
          spare: 0,
        },
        from,
        limit,
      );
    },

    async *readAll({ from, direction, limit }) {
      open();
      const isForwards = direction === 'forwards';
      if (from === (isForwards ? 'end' : 'start')) return;
      yield* resumingRead<ReadPosition>(
        {
          ...reading({}),
          open: (fromPosition, maxCount) =>
            client.readAll({
              fromPosition,
              direction: isForwards ? FORWARDS : BACKWARDS,
              maxCount,
            }) as unknown as ReadSource,
          // Forwards the position itself is read again, since nobody but the store knows the next one.
          behind: (event) => placed(event.position),
          wanted: (event) => !event.type.startsWith('$'),
          spare: 32,
        },
        from === 'start' ? START : from === 'end' ? END : placed(from),
        limit,
      );
    },

    subscribe(wanted) {
      open();
      const [first, longest] = options.resubscribeMs ?? [200, 30_000];
      const feed = {
        open: (after: bigint | null) =>
          client.subscribeToAll({
            fromPosition: after === null ? START : placed(after),
            filter: excludeSystemEvents({ checkpointInterval: 100 }),
          }) as unknown as Source,
        recorded,
        confirmed: reach.answered,
        translate(error: unknown) {
          reach.lost();
          return finalError(error, { tries: 1, wasAnswered: true }) ?? error;
        },
        pause: backoff(first, longest),
        cap: options.deliveryCap ?? 512,
        confirmMs: options.confirmMs ?? 20_000,
        silenceMs: options.silenceMs ?? 30_000,
      };
      const subscription = resumingSubscription(feed, wanted);
      subscriptions.add(subscription);
      return { close: () => subscription.close().finally(() => subscriptions.delete(subscription)) };
    },

    async close() {
      closed = true;
      await Promise.all([...subscriptions].map((each) => each.close()));
      // A client disposed of with appends pending rejects them all.
      await Promise.all(pending);
      await within(disposeMs, client.dispose(), () => new Error('the client was not disposed of in time')).catch(
        () => {},
      );
    },
  };
};
