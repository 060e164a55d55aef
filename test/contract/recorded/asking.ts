import { randomUUID } from 'node:crypto';
import type {
  AllStreamSubscription,
  AppendExpectedRevision,
  EventData,
  JSONType,
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  ResolvedEvent,
  StreamSubscription,
} from '@eventstore/db-client';
import { collect, jsonEvent } from '../events.ts';
import { eventStoreClient } from '../eventstore-client.ts';
import { type Client, credentials, theTarget } from '../target.ts';

/** One question to a store, and what a real EventStoreDB 24.2.0 node answered. */
export interface Question {
  ask(this: void, x: Asker): Promise<unknown>;
  readonly answer: unknown;
}

export type Questions = Readonly<Record<string, Question>>;

/** An accepted append, by its last revision, or a refusal. */
type Appended = { readonly next: unknown } | ReturnType<typeof refused>;
type Expected = AppendExpectedRevision;
/** What a subscription has said, in order. */
type Seen =
  | { readonly is: 'confirmation' | 'caughtUp' }
  | { readonly is: 'refused'; readonly error: string }
  | { readonly is: 'event'; readonly resolved: ResolvedEvent };

// biome-ignore lint/suspicious/noExplicitAny: questions look into answers of every shape.
export type Told = any;

/** The credentials with which the client makes the classic call instead of its batch stream. */
export const classic = { credentials: credentials() };
/** Longer than any answer takes. */
const PATIENCE_MS = 25_000;

/** `value` as JSON has it: large integers as `5n`, bytes in hexadecimal. */
export const plain = (value: unknown): unknown =>
  value === undefined
    ? null
    : JSON.parse(
        JSON.stringify(value, (_, each: unknown) => {
          if (typeof each === 'bigint') return `${each}n`;
          return each instanceof Uint8Array ? Buffer.from(each).toString('hex') : each;
        }),
      );

/** What the client shows of a refusal, without what differs from node to node. */
const refused = (error: unknown) => {
  const { type, code, streamName, expectedVersion, actualVersion, maxAppendSize } = error as Record<string, unknown>;
  return {
    error: String(type ?? `grpc-${String(code)}`),
    streamName,
    expected: expectedVersion,
    actual: actualVersion,
    max: maxAppendSize,
  };
};

/** What questions are put with. A stream is called by a label, which stands for its name in the answer. */
export class Asker {
  private readonly names = new Map<string, string>();
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  stream(label = 's'): string {
    const name = this.names.get(label) ?? `case-${label}-${randomUUID().replaceAll('-', '')}`;
    this.names.set(label, name);
    return name;
  }

  event(data: JSONType = {}, rest: { id?: string; type?: string } = {}): EventData {
    return { ...jsonEvent({ type: 'thing-happened', data }), ...rest } as EventData;
  }

  events(count: number): EventData[] {
    return Array.from({ length: count }, (_, i) => this.event({ i }));
  }

  async append(name: string, events: EventData[], expectedRevision: Expected, more: object = {}): Promise<Appended> {
    try {
      const answer = await this.client.appendToStream(name, events, { expectedRevision, ...more });
      return { next: answer.nextExpectedRevision };
    } catch (error) {
      return refused(error);
    }
  }

  /** Appends what must be accepted and says where its last event is. */
  async appendAt(name: string, events: EventData[], expectedRevision: Expected): Promise<bigint> {
    const { position } = await this.client.appendToStream(name, events, { expectedRevision });
    return position!.commit;
  }

  /** A stream of so many events. */
  async streamOf(count: number, label = 's'): Promise<string> {
    const name = this.stream(label);
    await this.appendAt(name, this.events(count), 'no_stream');
    return name;
  }

  async read(name: string, options: ReadStreamOptions = {}): Promise<ResolvedEvent[]> {
    const all: ResolvedEvent[] = [];
    for await (const each of this.client.readStream(name, options)) all.push(each);
    return all;
  }

  async readAll(options: ReadAllOptions = {}): Promise<ResolvedEvent[]> {
    const all: ResolvedEvent[] = [];
    for await (const each of this.client.readAll(options)) all.push(each as ResolvedEvent);
    return all;
  }

  /** What of a read does not differ from node to node, or its refusal. */
  async shown(name: string, options: ReadStreamOptions = {}): Promise<unknown> {
    try {
      return (await this.read(name, options)).map(shownEvent);
    } catch (error) {
      return refused(error);
    }
  }

  /** Whether a call is accepted, or what it is refused with. */
  outcome(call: Promise<unknown>): Promise<unknown> {
    return call.then(() => 'accepted', refused);
  }

  /** The kind and the words of a refusal. */
  words(call: Promise<unknown>): Promise<unknown> {
    return call.then(
      () => 'accepted',
      ({ type, message }: { type: string; message: string }) => [type, message],
    );
  }

  /** Follows a subscription until `enough` of what it has said; a refusal ends it too. `then` runs at its caught-up. */
  async follow(
    subscription: AllStreamSubscription | StreamSubscription,
    enough: (seen: readonly Seen[]) => boolean,
    then: () => Promise<unknown> = async () => {},
  ): Promise<Seen[]> {
    const seen: Seen[] = [];
    let hasRun = false;
    await new Promise<void>((resolve, reject) => {
      const see = (what: Seen) => {
        seen.push(what);
        if (enough(seen) || what.is === 'refused') resolve();
        if (what.is === 'caughtUp' && !hasRun) {
          hasRun = true;
          then().catch(reject);
        }
      };
      subscription.on('confirmation', () => see({ is: 'confirmation' }));
      subscription.on('caughtUp', () => see({ is: 'caughtUp' }));
      subscription.on('data', (resolved: ResolvedEvent) => see({ is: 'event', resolved }));
      subscription.on('error', (error) => see({ is: 'refused', error: refused(error).error }));
    });
    await subscription.unsubscribe().catch(() => {});
    return seen;
  }

  /** An append that says where it is too, or its refusal. */
  async put(name: string, events: EventData[], expectedRevision: Expected, more: object = {}): Promise<Told> {
    try {
      const answer = await this.client.appendToStream(name, events, { expectedRevision, ...more });
      return { next: answer.nextExpectedRevision, at: answer.position?.commit };
    } catch (error) {
      return refused(error);
    }
  }

  /** The events of a read, or its refusal. */
  got(name: string, options: ReadStreamOptions = {}): Promise<Told[]> {
    return this.read(name, options).catch(refused) as Promise<Told[]>;
  }

  gotAll(options: ReadAllOptions): Promise<Told[]> {
    return this.readAll(options).catch(refused) as Promise<Told[]>;
  }

  /** How many records a read gives, or the kind of its refusal. */
  counted(read: AsyncIterable<unknown>): Promise<unknown> {
    return collect(read).then(
      ({ length }) => length,
      ({ type }: { type: string }) => type,
    );
  }

  show(read: Told): unknown {
    return Array.isArray(read) ? read.map(shownEvent) : read;
  }

  refusal(error: unknown): unknown {
    return refused(error);
  }

  /** What a subscription has said until it was `enough`, or until the time is up. */
  heard(
    subscription: AllStreamSubscription | StreamSubscription,
    enough: (seen: Told[]) => boolean,
    ms = 15_000,
  ): Promise<Told[]> {
    return new Promise((resolve) => {
      const seen: Told[] = [];
      const end = (...last: Told[]) => {
        clearTimeout(timer);
        subscription.unsubscribe().catch(() => {});
        resolve([...seen, ...last]);
      };
      const timer = setTimeout(() => end({ is: 'time-up' }), ms);
      const see = (what: Told) => {
        seen.push(what);
        if (enough(seen)) end();
      };
      subscription.on('confirmation', () => see({ is: 'confirmation' }));
      subscription.on('caughtUp', () => see({ is: 'caughtUp' }));
      subscription.on('data', (resolved: ResolvedEvent) => {
        const { event } = resolved;
        see({ is: 'event', ...shownEvent(resolved), stream: event?.streamId, at: event?.position?.commit });
      });
      subscription.on('error', (error) => end(refused(error)));
    });
  }

  /** An answer in the form in which it is recorded. */
  told(answer: unknown): unknown {
    let text = JSON.stringify(plain(answer));
    for (const [label, name] of this.names) text = text.replaceAll(name, `<${label}>`);
    return JSON.parse(text);
  }
}

const shownEvent = ({ event, link }: ResolvedEvent) => ({
  type: event?.type,
  rev: event?.revision,
  data: event?.data,
  link: link?.type,
});

/** An answer without what differs from node to node. */
export const drop = ({ at, ...rest }: Told): unknown => rest;

/** The events among what a subscription has said. */
export const eventsOf = (seen: readonly Seen[]): ResolvedEvent[] =>
  seen.flatMap((each) => (each.is === 'event' ? [each.resolved] : []));

/** Enough is so many events. */
export const eventCount = (count: number) => (seen: readonly Seen[]) => eventsOf(seen).length >= count;

/** The greatest numbers of 64 bits, without and with a sign. */
export const [unsigned, signed] = [2n ** 64n - 1n, 2n ** 63n - 1n];

/** Where the last event of all is. */
export const headOf = async ({ client }: Asker): Promise<Position> => {
  const [last] = await collect(client.readAll({ direction: 'backwards', fromPosition: 'end', maxCount: 1 }));
  return last!.event!.position!;
};

/** Asks from 1,000,000 beyond the head, and again where others have written as far in the meantime. */
export const beyondHead = async (x: Asker, ask: (from: bigint) => Promise<unknown>): Promise<unknown> => {
  for (;;) {
    const from = (await headOf(x)).commit + 1_000_000n;
    const told = await ask(from);
    if ((await headOf(x)).commit < from) return told;
  }
};

/**
 * Puts a question to the store that the file's tests share, through a client of its own: a real node's answers to some leave
 * a client's stream of appends without an end.
 */
export async function asked({ ask }: Question): Promise<unknown> {
  const client = eventStoreClient(theTarget());
  const asker = new Asker(client);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('There was no answer.')), PATIENCE_MS);
  });
  const answer = ask(asker).catch((error: Error & { type?: string }) => ({ threw: error.type ?? error.message }));
  try {
    return asker.told(await Promise.race([answer, tooLate]));
  } finally {
    clearTimeout(timer);
    void client.dispose().catch(() => {});
  }
}
