import { ErrorType, START } from '@eventstore/db-client';
import { systemClock } from '../clock.ts';
import { type CallOptions, type EventStore, type HeadPoll, StoreUnavailable } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { Appends } from './append-events.ts';
import { attempts, type NewAttempts } from './client/attempt.ts';
import { type ConnectOptions, timesOf } from './client/connect-options.ts';
import { type Contact, contact } from './client/contact.ts';
import { diagnosis } from './client/diagnosis.ts';
import { finalError } from './client/errors.ts';
import { recorded } from './client/events.ts';
import { Abandoned, type Client, type Owner, openStream, ownerOf } from './client/owner.ts';
import { backoff } from './client/retry-policy.ts';
import { asking, type Right } from './client/rights.ts';
import { clientFor, ignoredOptions, isDiscovered, type Target } from './client/target.ts';
import { guardClient } from './guard.ts';
import { isGivenUp, probe } from './probe.ts';
import { placed, readsOver } from './read-events.ts';
import type { Feed, Source } from './session.ts';
import { Subscriptions } from './subscription.ts';

/**
 * Opens the store, and polls the end of its log twice a second. One per thread, because the client keeps a thread's pending
 * appends in one place.
 * @throws Error for an invalid connection string
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

/** The port for an owner; tests bring a faulty one without a probe. */
export const storeOver = (
  owner: Owner,
  options: ConnectOptions,
  look?: typeof probe,
  told: (error: unknown) => Promise<unknown> = async (error) => error,
): EventStore => {
  const { clock = systemClock } = options;
  const subscriptions = new Subscriptions();
  const listeners = new Set<(poll: HeadPoll) => void>();
  const times = timesOf(options);
  const state = contact(clock, told);
  let isClosed = false;
  const open = (): void => {
    if (isClosed) throw new StoreUnavailable('the connection to the event store is closed');
  };
  const hurry = (): void => probing?.hurry();
  const begin = attempts({
    clock,
    contact: state,
    times,
    failed(error) {
      // Such a client never recovers, although the store is there.
      if (isGivenUp(error) && state.state.is === 'there') owner.replace('its discovery was given up', true);
      hurry();
    },
  });
  const newAttempts: NewAttempts = (about, more) => {
    open();
    return begin(about, more);
  };
  const appended = (position: bigint): void => subscriptions.expect(position);
  const appends = new Appends({ owner, contact: state, newAttempts, callMs: times.callMs, appended });
  const probing = look?.({
    owner,
    contact: state,
    clock,
    seen(poll) {
      subscriptions.expect(poll.end);
      for (const listener of listeners) listener(poll);
    },
    moved: () => subscriptions.reopen('the leader is another node now'),
    appendMs: times.callMs,
    unanswered: () => appends.unanswered(times.callMs),
  });
  return {
    append: (...call) => appends.append(...call),
    ...readsOver(owner, newAttempts),
    ...repeatableCalls(owner, newAttempts),
    subscribe(wanted) {
      open();
      return subscriptions.open(feedOver(owner, state, options, hurry), wanted);
    },
    get state() {
      return state.state;
    },
    onHeadPoll(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      isClosed = true;
      probing?.close();
      await subscriptions.close();
      // Disposing of the client would reject pending appends.
      await appends.settled();
      await owner.close();
    },
  };
};

const unlessGone = (error: unknown): void => {
  const { type } = error as { type?: string };
  if (type !== ErrorType.WRONG_EXPECTED_VERSION && type !== ErrorType.STREAM_DELETED) throw error;
};

/** Calls that can be repeated until they are answered. */
const repeatableCalls = (
  owner: Owner,
  newAttempts: NewAttempts,
): Pick<EventStore, 'limitAge' | 'remove' | 'proveRights'> => {
  const repeat = async (
    about: Parameters<NewAttempts>[0],
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
  return {
    limitAge(stream, seconds, more) {
      const set = (client: Client) => client.setStreamMetadata(stream, { maxAge: seconds });
      return repeat({ stream, right: 'write the metadata of streams' }, set, more);
    },
    remove(stream) {
      // A missing or deleted stream is fine.
      const remove = (client: Client) => client.deleteStream(stream).catch(unlessGone);
      return repeat({ stream, right: 'delete streams' }, remove);
    },
    async proveRights() {
      for (const right of Object.keys(asking) as Right[]) await repeat({ right }, asking[right]);
    },
  };
};

/** @param hurry makes the next probe at once */
const feedOver = (owner: Owner, state: Contact, options: ConnectOptions, hurry: () => void): Feed => {
  const [first, longest] = options.resubscribeMs ?? [200, 5_000];
  return {
    open: (after) => {
      const fromPosition = after === null ? START : placed(after);
      return openStream<Source>(owner, (client) => client.subscribeToAll({ fromPosition }));
    },
    recorded,
    confirmed: state.answered,
    translate: (error) => finalError(error, { tries: 1, wasAnswered: true, right: 'read $all' }) ?? error,
    lost(error) {
      if (!(error instanceof Abandoned)) state.stumbled(error);
      hurry();
    },
    pause: backoff(first, longest),
    cap: options.deliveryCap ?? 512,
    confirmMs: options.confirmMs ?? 5_000,
    silenceMs: options.silenceMs ?? 2_000,
  };
};
