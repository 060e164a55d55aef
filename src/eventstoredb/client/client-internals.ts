/**
 * All uses of undocumented parts of `@eventstore/db-client`: four protected members, the filters of its connection and its
 * messages. A test fails for other versions; check the class `Client` then, and whether the defects in the README remain.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import services from '@eventstore/db-client/generated/streams_grpc_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';

export { messages, shared };

export const checkedClient = '6.2.1';

const proposed = messages.BatchAppendReq.ProposedMessage.prototype;
const given = proposed.getData;
/** google-protobuf decodes base64 twice in JavaScript: 6 µs for each request accounted. Node is a hundred times as fast. */
proposed.getData_asU8 = function () {
  const data = given.call(this);
  if (typeof data !== 'string') return data;
  const { buffer, byteOffset, length } = Buffer.from(data, 'base64');
  // A plain array, because the writer would copy a Buffer.
  return new Uint8Array(buffer, byteOffset, length);
};

type StreamCreator = (
  service: unknown,
  name: string,
  open: (streams: unknown) => unknown,
  cache?: unknown,
) => () => Promise<unknown>;

interface Inside {
  /** Finds the server and opens a stream, or returns the one in `cache`. */
  GRPCStreamCreator: StreamCreator;
  handleError: (service: unknown, error: unknown) => Promise<void>;
  /** Metadata and options of a call, including credentials. */
  readonly callArguments: (options: object, callOptions: object) => unknown[];
  /** The connection; pending until discovery has chosen a node. */
  getChannel: () => Promise<Channel>;
}

/** A connection, with the filters that each call passes. */
interface Channel {
  close(): void;
  readonly internalChannel?: { readonly filterStackFactory?: { readonly factories?: { createFilter(): object }[] } };
}

interface Headers {
  set(name: string, value: string): void;
}

const members = ['GRPCStreamCreator', 'handleError', 'callArguments', 'getChannel'] as const;

/** @throws Error for another version of the client */
const insideOf = (client: object): Inside => {
  const inside = client as Inside;
  const missing = members.find((name) => typeof inside[name] !== 'function');
  if (missing !== undefined) {
    throw new Error(`this is not @eventstore/db-client ${checkedClient}: its client has no ${missing}`);
  }
  return inside;
};

export const wrapErrorHandling = (client: object, wrap: (handled: Promise<void>) => Promise<void>): void => {
  const inside = insideOf(client);
  const { handleError } = inside;
  inside.handleError = (service, error) => wrap(handleError(service, error));
};

export const onAppendStream = (client: object, opened: (stream: unknown) => void): void => {
  const inside = insideOf(client);
  const create = inside.GRPCStreamCreator;
  inside.GRPCStreamCreator = (service, name, open, cache) => {
    if (name !== 'appendToStream') return create(service, name, open, cache);
    const shown = (streams: unknown): unknown => {
      const stream = open(streams);
      opened(stream);
      return stream;
    };
    return create(service, name, shown, cache);
  };
};

const same = <T>(value: T): T => value;

const uncompressed = {
  createFilter: () => ({
    async sendMetadata(given: Promise<Headers>): Promise<Headers> {
      const headers = await given;
      headers.set('grpc-accept-encoding', 'identity');
      return headers;
    },
    receiveMetadata: same,
    sendMessage: same,
    receiveMessage: same,
    receiveTrailers: same,
  }),
};

/** Asks for uncompressed answers: gRPC always offers gzip, with which KurrentDB from 25.1 on makes reads ten times slower. */
export const askUncompressed = (client: object): void => {
  const inside = insideOf(client);
  const { getChannel } = inside;
  inside.getChannel = async () => {
    const channel = await getChannel();
    const filters = channel.internalChannel?.filterStackFactory?.factories;
    if (filters === undefined) throw new Error('this is not @grpc/grpc-js 1.14: its channel has no filters');
    // Behind the filter that sets the header.
    if (!filters.includes(uncompressed)) filters.push(uncompressed);
    return channel;
  };
};

interface Streams {
  read(request: InstanceType<typeof messages.ReadReq>, ...rest: readonly unknown[]): unknown;
  batchAppend(...rest: readonly unknown[]): unknown;
}

/**
 * Makes a call of the service of streams without a time limit.
 * @param name identifies the stream in the client
 */
export const streamsCall = <T>(
  client: object,
  name: string,
  open: (streams: Streams, rest: readonly unknown[]) => T,
): (() => Promise<T>) => {
  const inside = insideOf(client);
  const opened = (streams: unknown) =>
    open(streams as Streams, inside.callArguments({}, { deadline: Number.POSITIVE_INFINITY }));
  return inside.GRPCStreamCreator(services.StreamsClient, name, opened) as () => Promise<T>;
};

/** The client's connection, pending until discovery has chosen a node. */
export const connectionOf = (client: object): Promise<{ close(): void }> | undefined =>
  (client as Partial<Inside>).getChannel?.();
