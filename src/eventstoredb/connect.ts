import {
  BACKWARDS,
  END,
  ErrorType,
  FORWARDS,
  type JSONType,
  jsonEvent,
  NO_STREAM,
  type ReadPosition,
  START,
} from '@eventstore/db-client';
import { type Millis, systemClock } from '../clock.ts';
import {
  type Appended,
  type CallOptions,
  type EventStore,
  type HeadPoll,
  StoreUnavailable,
} from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { attempts } from './client/attempt.ts';
import { type ConnectOptions, timesOf } from './client/connect-options.ts';
import { contact } from './client/contact.ts';
import { diagnosis } from './client/diagnosis.ts';
import { finalError, neverTooLarge } from './client/errors.ts';
import { recorded } from './client/events.ts';
import { Abandoned, type Client, type Owner, ownerOf } from './client/owner.ts';
import { backoff } from './client/retry-policy.ts';
import { asking, type Right } from './client/rights.ts';
import { clientFor, ignoredOptions, isDiscovered, type Target } from './client/target.ts';
import { guardClient } from './guard.ts';
import { isGivenUp, probe } from './probe.ts';
import { type ReadSource, resumingRead } from './reads.ts';
import { type ResumingSubscription, resumingSubscription, type Source } from './subscription.ts';

/** Appends in a row without an answer after which the client's stream of appends is what is wrong. */
const maxUnanswered = 2;

const placed = (position: bigint) => ({ commit: position, prepare: position });

/**
 * The store behind a socket or a connection string. One per thread: the client keeps the pending appends of a whole
 * thread in one place. From now on the store is asked twice a second where its log ends.
 * @throws Error for a connection string that cannot be read
 */
export const connect = (target: Target, options: ConnectOptions = {}): EventStore => {
  const { clock = systemClock } = options;
  const owner = ownerOf(
    () => {
      const client = clientFor(target);
      guardClient(client);
      return client;
    },
    clock,
    isDiscovered(target),
  );
  for (const ignored of ignoredOptions(target)) publish('store.option_ignored', ignored);
  return storeOver(owner, options, probe, diagnosis(target));
};

const unlessGone = (error: unknown): void => {
  const { type } = error as { type?: string };
  if (type !== ErrorType.WRONG_EXPECTED_VERSION && type !== ErrorType.STREAM_DELETED) throw error;
};

/** The port over the owner of a client; the tests bring one that misbehaves, and look by themselves. */
export const storeOver = (
  owner: Owner,
  options: ConnectOptions,
  look?: typeof probe,
  told: (error: unknown) => Promise<unknown> = async (error) => error,
): EventStore => {
  const { clock = systemClock } = options;
  const subscriptions = new Set<ResumingSubscription>();
  const listeners = new Set<(poll: HeadPoll) => void>();
  const pending = new Set<Promise<unknown>>();
  const times = timesOf(options);
  let closed = false;
  let unanswered = 0;
  const state = contact(clock, told);
  const probing = look?.({
    owner,
    contact: state,
    clock,
    seen(poll) {
      for (const subscription of subscriptions) subscription.expect(poll.end);
      for (const listener of listeners) listener(poll);
    },
    moved() {
      for (const subscription of subscriptions) subscription.reopen('the leader is another node now');
    },
    appendMs: times.callMs,
    unanswered: () => noAnswer(times.callMs),
  });

  const newAttempts = attempts({
    clock,
    contact: state,
    times,
    failed(error) {
      // A client that says so although the store is there says so for ever.
      if (isGivenUp(error) && state.state.is === 'there') owner.replace('its discovery was given up', true);
      probing?.hurry();
    },
  });

  const open = (): void => {
    if (closed) throw new StoreUnavailable('the connection to the event store is closed');
  };

  /** The client keeps one stream for all appends. Where that stands still it does so for ever, whatever else is answered. */
  const noAnswer = (ms: Millis): void => {
    if (ms !== times.callMs || !(state.state.is === 'there' || state.lost?.refuses)) return;
    if (++unanswered >= maxUnanswered) owner.replace('its appends have no answer', false);
  };

  const append: EventStore['append'] = async (stream, events, expected, more) => {
    // The store calls it a success, without a stream to show for it.
    if (events.length === 0) throw new TypeError(`an append of no events to ${stream}`);
    const batch = events.map(({ id, type, data, metadata }) =>
      jsonEvent({ id, type, data: data as JSONType, metadata: metadata as unknown as JSONType }),
    );
    const expectedRevision = expected === 'no_stream' ? NO_STREAM : BigInt(expected);
    const isLarge = () => JSON.stringify(batch).length >= neverTooLarge;
    const attempts = newAttempts({ stream, expected, isLarge, right: 'append to streams' }, more);
    for (;;) {
      try {
        const ms = attempts.callMs;
        const late = () => {
          noAnswer(ms);
          return new Error(`no answer to an append to ${stream} within ${Math.round(ms)} ms`);
        };
        const { nextExpectedRevision, position } = await owner.attempt(
          (client) => client.appendToStream(stream, batch, { expectedRevision }),
          ms,
          late,
        );
        unanswered = 0;
        if (!position) throw new Error(`an append to ${stream} was answered without a position`);
        attempts.progress();
        for (const subscription of subscriptions) subscription.expect(position.commit);
        return { revision: Number(nextExpectedRevision), position: position.commit };
      } catch (error) {
        await attempts.failed(error);
      }
    }
  };

  /** A call that may be made any number of times, until it has been answered. */
  const trying = async (
    about: Parameters<typeof newAttempts>[0],
    call: (client: Client) => Promise<unknown>,
    more?: CallOptions,
  ): Promise<void> => {
    const attempts = newAttempts(about, more);
    for (;;) {
      try {
        const ms = attempts.callMs;
        const what = about.stream ?? `the right to ${about.right}`;
        await owner.attempt(call, ms, () => new Error(`no answer about ${what} within ${Math.round(ms)} ms`));
        attempts.progress();
        return;
      } catch (error) {
        await attempts.failed(error);
      }
    }
  };

  const reading = (about: Parameters<typeof newAttempts>[0], more?: CallOptions) => {
    const attempts = newAttempts(about, more);
    return { recorded, silenceMs: () => attempts.callMs, retry: attempts };
  };

  /** What the client at hand has open, until that is replaced: then it ends with an error. */
  const opened = <T extends { on(event: 'close', listener: () => void): unknown; destroy(why: Error): unknown }>(
    make: (client: Client) => unknown,
  ): T => {
    const source = make(owner.client) as T;
    source.on(
      'close',
      owner.onLoss((why) => source.destroy(why)),
    );
    return source;
  };

  return {
    append(stream, events, expected, more): Promise<Appended> {
      const run = (async () => {
        open();
        return append(stream, events, expected, more);
      })();
      const settled: Promise<unknown> = run.catch(() => {}).then(() => pending.delete(settled));
      pending.add(settled);
      return run;
    },

    async limitAge(stream, seconds, more) {
      open();
      const set = (client: Client) => client.setStreamMetadata(stream, { maxAge: seconds });
      await trying({ stream, right: 'write the metadata of streams' }, set, more);
    },

    async remove(stream) {
      open();
      // Nothing there, or gone already, is what was wanted.
      const remove = (client: Client) => client.deleteStream(stream).catch(unlessGone);
      await trying({ stream, right: 'delete streams' }, remove);
    },

    async proveRights() {
      open();
      for (const right of Object.keys(asking) as Right[]) await trying({ right }, asking[right]);
    },

    async *read(stream, { from = 0, limit = Number.MAX_SAFE_INTEGER, ...more } = {}) {
      open();
      yield* resumingRead<number>(
        {
          ...reading({ stream, right: 'read streams' }, more),
          open: (revision, maxCount) =>
            opened<ReadSource>((client) =>
              client.readStream(stream, {
                fromRevision: BigInt(revision),
                maxCount,
                requiresLeader: more.once ?? false,
              }),
            ),
          behind: (event) => event.revision + 1,
          wanted: () => true,
          spare: 0,
        },
        from,
        limit,
      );
    },

    async *readAll({ from, direction, limit, withOwn = false, ...more }) {
      open();
      const isForwards = direction === 'forwards';
      if (from === (isForwards ? 'end' : 'start')) return;
      yield* resumingRead<ReadPosition>(
        {
          ...reading({ right: 'read $all' }, more),
          open: (fromPosition, maxCount) =>
            opened<ReadSource>((client) =>
              client.readAll({
                fromPosition,
                direction: isForwards ? FORWARDS : BACKWARDS,
                maxCount,
                requiresLeader: more.once ?? false,
              }),
            ),
          // Forwards the position itself is read again, since nobody but the store knows the next one.
          behind: (event) => placed(event.position),
          wanted: (event) => withOwn || !event.type.startsWith('$'),
          spare: 32,
        },
        from === 'start' ? START : from === 'end' ? END : placed(from),
        limit,
      );
    },

    subscribe(wanted) {
      open();
      const [first, longest] = options.resubscribeMs ?? [200, 5_000];
      const feed = {
        open: (after: bigint | null) =>
          opened<Source>((client) => client.subscribeToAll({ fromPosition: after === null ? START : placed(after) })),
        recorded,
        confirmed: state.answered,
        translate: (error: unknown) => finalError(error, { tries: 1, wasAnswered: true, right: 'read $all' }) ?? error,
        lost(error: unknown) {
          if (!(error instanceof Abandoned)) state.stumbled(error);
          probing?.hurry();
        },
        pause: backoff(first, longest),
        cap: options.deliveryCap ?? 512,
        confirmMs: options.confirmMs ?? 5_000,
        silenceMs: options.silenceMs ?? 2_000,
      };
      const subscription = resumingSubscription(feed, wanted);
      subscriptions.add(subscription);
      return { close: () => subscription.close().finally(() => subscriptions.delete(subscription)) };
    },

    get state() {
      return state.state;
    },

    onHeadPoll(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    async close() {
      closed = true;
      probing?.close();
      await Promise.all([...subscriptions].map((each) => each.close()));
      // A client disposed of with appends pending rejects them all.
      await Promise.all(pending);
      await owner.close();
    },
  };
};
