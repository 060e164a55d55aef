import { Readable } from 'node:stream';
import { type Clock, type Millis, systemClock } from '../clock.ts';
import { type BatchCall, OrderedAppends, type RawAnswer, type RawAppend } from './append.ts';
import { messages, shared, streamsCall } from './client/client-internals.ts';
import { usersAreKnown } from './client/connect-options.ts';
import { diagnosis } from './client/diagnosis.ts';
import { finalError, outOfTime } from './client/errors.ts';
import type { RawEvent } from './client/raw-event.ts';
import { retryPolicy, within } from './client/retry-policy.ts';
import type { Right } from './client/rights.ts';
import { clientFor, type Target } from './client/target.ts';
import { type ReadSource, resumingRead } from './reads.ts';

export interface Archive {
  /** All events in order, the store's own included; resumes after a loss. */
  readAll(): AsyncIterable<RawEvent>;
  /** The newest visible event of a stream, or of all. */
  last(stream?: string): Promise<RawEvent | undefined>;
  /** Appends are written in the order of the calls. */
  append(append: RawAppend): Promise<RawAnswer>;
  /** Hard delete. @throws StoreUnavailable, or the client's error for a refusal */
  tombstone(stream: string): Promise<'written' | 'deleted'>;
  close(): Promise<void>;
}

export interface ArchiveOptions {
  readonly clock?: Clock;
  /** Limit for silence within a call; default 10 s. */
  readonly silenceMs?: Millis;
  /** Time without progress after which the store is given up; default 30 s. */
  readonly totalMs?: Millis;
}

type ReadRequest = InstanceType<typeof messages.ReadReq>;
type ReadResponse = InstanceType<typeof messages.ReadResp>;
interface ReadCall extends AsyncIterable<ReadResponse> {
  cancel(): unknown;
}

/** @throws Error for an invalid connection string */
export const openArchive = (target: Target, options: ArchiveOptions = {}): Archive => {
  const { clock = systemClock, silenceMs = 10_000, totalMs = 30_000 } = options;
  const client = clientFor(target);
  const retries = retriesOf(target, clock, totalMs);

  async function* responses(request: ReadRequest): AsyncGenerator<ReadResponse> {
    const open = streamsCall(client, 'readRaw', (streams, rest) => streams.read(request, ...rest) as ReadCall);
    const call = await open();
    try {
      for await (const response of call) if (response.hasEvent()) yield response;
    } finally {
      call.cancel();
    }
  }

  const source = (request: ReadRequest): ReadSource => {
    const readable = Readable.from(responses(request));
    return Object.assign(readable, { cancel: async () => void readable.destroy() });
  };

  const appends = new OrderedAppends({
    retry: retries('append to streams'),
    silenceMs,
    open: streamsCall(client, 'appendRaw', (streams, rest) => streams.batchAppend(...rest) as BatchCall),
  });

  const read = (open: (from: bigint | null, limit: number) => ReadRequest, limit: number) =>
    resumingRead<bigint | null, RawEvent>(
      {
        open: (from, count) => source(open(from, count)),
        recorded: (item) => rawEvent(item as ReadResponse),
        behind: (event) => event.position,
        wanted: () => true,
        spare: 0,
        retry: retries('read $all'),
        silenceMs: () => silenceMs,
      },
      null,
      limit,
    );

  return {
    readAll: () => read((from) => allForwards(from), Number.MAX_SAFE_INTEGER),
    async last(stream) {
      for await (const event of read(() => backwardsFromEnd(stream), 1)) return event;
      return undefined;
    },
    append: (append) => appends.add(append),
    async tombstone(stream) {
      const attempts = retries('delete streams');
      for (;;) {
        try {
          const late = () => new Error(`no answer to the tombstone of ${stream} within ${silenceMs} ms`);
          await within(silenceMs, client.tombstoneStream(stream, { expectedRevision: 'any' }), late);
          return 'written';
        } catch (error) {
          if ((error as { type?: unknown }).type === 'stream-deleted') return 'deleted';
          await attempts.failed(error);
        }
      }
    },
    async close() {
      appends.close();
      await client.dispose();
    },
  };
};

/** Retries of all calls. Until the first answer the store may not know its users. */
const retriesOf = (target: Target, clock: Clock, totalMs: Millis) => {
  const told = diagnosis(target);
  const begun = clock.monotonic();
  let wasAnswered = false;
  return (right: Right) => {
    const attempts = retryPolicy({
      clock,
      totalMs,
      firstMs: 50,
      longestMs: 1_000,
      outOfTime,
      final(error, tries) {
        const awaitsUsers = !wasAnswered && clock.monotonic() - begun < usersAreKnown.usersMs;
        return finalError(error, { tries, wasAnswered, awaitsUsers, right });
      },
    });
    return {
      failed: async (error: unknown) => attempts.failed(wasAnswered ? error : await told(error)),
      progress() {
        wasAnswered = true;
        attempts.progress();
      },
    };
  };
};

const request = (
  options: InstanceType<typeof messages.ReadReq.Options>,
  backwards: boolean,
  count: number,
): ReadRequest =>
  new messages.ReadReq().setOptions(
    options
      .setReadDirection(backwards ? 1 : 0)
      .setResolveLinks(false)
      .setCount(String(count))
      .setUuidOption(new messages.ReadReq.Options.UUIDOption().setString(new shared.Empty()))
      .setNoFilter(new shared.Empty()),
  );

const allForwards = (from: bigint | null): ReadRequest => {
  const all = new messages.ReadReq.Options.AllOptions();
  if (from === null) all.setStart(new shared.Empty());
  else {
    const position = new messages.ReadReq.Options.Position();
    all.setPosition(position.setCommitPosition(String(from)).setPreparePosition(String(from)));
  }
  return request(new messages.ReadReq.Options().setAll(all), false, Number.MAX_SAFE_INTEGER);
};

const backwardsFromEnd = (stream: string | undefined): ReadRequest => {
  const options = new messages.ReadReq.Options();
  const end = new shared.Empty();
  if (stream === undefined) options.setAll(new messages.ReadReq.Options.AllOptions().setEnd(end));
  else {
    const name = new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
    options.setStream(new messages.ReadReq.Options.StreamOptions().setStreamIdentifier(name).setEnd(end));
  }
  return request(options, true, 1);
};

const TICKS_PER_MS = 10_000;

const rawEvent = (response: ReadResponse): RawEvent => {
  const event = response.getEvent()?.getEvent() ?? response.getEvent()?.getLink();
  if (event === undefined) throw new TypeError('the event store sent an event without content');
  const about = event.getMetadataMap();
  return {
    stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
    revision: BigInt.asUintN(64, BigInt(event.getStreamRevision())),
    position: BigInt(event.getCommitPosition()),
    id: event.getId()?.getString() ?? '',
    type: about.get('type') ?? '',
    isJson: about.get('content-type') === 'application/json',
    data: event.getData_asU8(),
    metadata: event.getCustomMetadata_asU8(),
    created: Math.floor(Number(about.get('created') ?? 0) / TICKS_PER_MS),
  };
};
