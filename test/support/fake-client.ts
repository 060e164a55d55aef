import { PassThrough, Readable } from 'node:stream';
import { systemClock } from '../../src/clock.ts';
import type { ConnectOptions } from '../../src/eventstoredb/client/connect-options.ts';
import { type Client, ownerOf } from '../../src/eventstoredb/client/owner.ts';
import { storeOver } from '../../src/eventstoredb/connect.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';

/** The port over one client, without a probe of its own. */
export const storeOfClient = (client: Client, options: ConnectOptions): EventStore =>
  storeOver(
    ownerOf(() => client, options.clock ?? systemClock),
    options,
  );

/** An error as the client makes it: with a type, a gRPC code, both or neither. */
export const clientError = (message: string, more: object = {}): Error => Object.assign(new Error(message), more);

type Answer = Error | 'silence' | { readonly revision: bigint; readonly position?: bigint };

interface Appended {
  readonly stream: string;
  readonly ids: readonly string[];
  readonly expected: unknown;
}

/** What the client hands out for a subscription; the test plays the server. */
export class FakeSubscription extends PassThrough {
  readonly from: unknown;
  isUnsubscribed = false;
  constructor(from: unknown) {
    super({ objectMode: true });
    this.from = from;
  }
  /** Sends an event that carries its position as its number. */
  event(n: number, more: object = {}): void {
    const position = { commit: BigInt(n), prepare: BigInt(n) };
    const event = {
      id: `id-${n}`,
      type: 't',
      data: { n },
      metadata: {},
      streamId: 's-1',
      revision: BigInt(n),
      position,
    };
    this.write({ event: { ...event, ...more } });
  }
  async unsubscribe(): Promise<void> {
    this.isUnsubscribed = true;
  }
}

/** A client whose answers the test writes. */
export const fakeClient = () => {
  const appends: Appended[] = [];
  const answers: (Answer | Promise<Answer>)[] = [];
  const subscriptions: FakeSubscription[] = [];
  const reads: { readonly from: unknown; readonly max: unknown }[] = [];
  /** What each read brings; an error among it ends it, and after a silence nothing comes. */
  const readAnswers: (readonly (object | 'silence')[])[] = [];
  /** Those that are neither appends nor reads. */
  const calls: string[] = [];
  const coming: object[][] = [];
  let disposed = 0;
  let cancelled = 0;
  let check = (): void => {};
  const read = (from: unknown, max: unknown, requiresLeader: unknown) => {
    reads.push({ from, max, ...(requiresLeader === true && { requiresLeader }) });
    const answer = readAnswers.shift() ?? [];
    const left = [...answer] as object[];
    coming.push(left);
    const stream = new Readable({
      objectMode: true,
      // One at a time, so that nothing which came before an error is lost with it.
      highWaterMark: 1,
      read() {
        const item: unknown = left.shift();
        if (item instanceof Error) this.destroy(item);
        else if (item !== 'silence') this.push(item ?? null);
      },
    });
    return Object.assign(stream, {
      async cancel(): Promise<void> {
        cancelled++;
      },
    });
  };
  const called = async (what: string): Promise<unknown> => {
    calls.push(what);
    const answer = await (answers.shift() ?? { revision: 0n });
    if (answer === 'silence') return new Promise(() => {});
    if (answer instanceof Error) throw answer;
    return {};
  };
  const client = {
    async appendToStream(stream: string, events: { id: string }[], options: { expectedRevision: unknown }) {
      appends.push({ stream, ids: events.map(({ id }) => id), expected: options.expectedRevision });
      check();
      const answer = await (answers.shift() ?? { revision: 0n, position: 1n });
      if (answer === 'silence') return new Promise(() => {});
      if (answer instanceof Error) throw answer;
      const { revision, position } = answer;
      return {
        success: true,
        nextExpectedRevision: revision,
        position: position === undefined ? undefined : { commit: position, prepare: position },
      };
    },
    subscribeToAll({ fromPosition }: { fromPosition: unknown }) {
      const subscription = new FakeSubscription(fromPosition);
      subscriptions.push(subscription);
      check();
      return subscription;
    },
    readStream: (_: string, { fromRevision, maxCount, requiresLeader }: Record<string, unknown>) =>
      read(fromRevision, maxCount, requiresLeader),
    readAll: ({ fromPosition, maxCount, requiresLeader }: Record<string, unknown>) =>
      read(fromPosition, maxCount, requiresLeader),
    setStreamMetadata: (stream: string) => called(`setStreamMetadata ${stream}`),
    deleteStream: (stream: string) => called(`deleteStream ${stream}`),
    async dispose() {
      disposed++;
    },
  };
  return {
    client: client as unknown as Client,
    appends,
    answers,
    subscriptions,
    reads,
    calls,
    readAnswers,
    /** Of each read, how many items it has not brought yet. */
    unread: (): number[] => coming.map(({ length }) => length),
    get cancelled() {
      return cancelled;
    },
    get disposed() {
      return disposed;
    },
    /** Resolves with the n-th subscription, from 1, as soon as it is opened. */
    subscription: (n: number): Promise<FakeSubscription> =>
      new Promise((resolve) => {
        const outer = check;
        check = () => {
          outer();
          const wanted = subscriptions[n - 1];
          if (wanted) resolve(wanted);
        };
        check();
      }),
  };
};
