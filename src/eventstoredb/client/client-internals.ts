/**
 * Every reach into what `@eventstore/db-client` neither exports nor documents: four members that it declares protected,
 * the filters of its connection, and the messages that it sends, one of which is decoded better. Nobody else reaches there. A test fails when another version is installed; what to look at then
 * is the class `Client` of the package, and whether its defects (README) are still there.
 */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import services from '@eventstore/db-client/generated/streams_grpc_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';

export { messages, shared };

/** The version that all this was checked against. */
export const checkedClient = '6.2.1';

const proposed = messages.BatchAppendReq.ProposedMessage.prototype;
const given = proposed.getData;
/**
 * The client hands over the JSON of an event as base64, and google-protobuf decodes that in JavaScript, once to see how long
 * the message is and once to send it: 6 µs for each request in an event of accounts. Node's decoder is a hundred times as fast.
 */
proposed.getData_asU8 = function () {
  const data = given.call(this);
  if (typeof data !== 'string') return data;
  const { buffer, byteOffset, length } = Buffer.from(data, 'base64');
  // A plain array: the writer would copy a Buffer.
  return new Uint8Array(buffer, byteOffset, length);
};

type StreamCreator = (
  service: unknown,
  name: string,
  open: (streams: unknown) => unknown,
  cache?: unknown,
) => () => Promise<unknown>;

interface Inside {
  /** Finds the server, and makes one stream of a kind: a call that opens it, or gives out the one that `cache` has. */
  GRPCStreamCreator: StreamCreator;
  /** What the client does after an error of a stream. */
  handleError: (service: unknown, error: unknown) => Promise<void>;
  /** Metadata and options of a call, with the credentials. */
  readonly callArguments: (options: object, callOptions: object) => unknown[];
  /** The connection: pending as long as discovery has not chosen a node for it. */
  getChannel: () => Promise<Channel>;
}

/** A connection, and of its inside the filters that each call goes through on its way out. */
interface Channel {
  close(): void;
  readonly internalChannel?: { readonly filterStackFactory?: { readonly factories?: { createFilter(): object }[] } };
}

interface Headers {
  set(name: string, value: string): void;
}

const members = ['GRPCStreamCreator', 'handleError', 'callArguments', 'getChannel'] as const;

/** @throws Error with a client that is built otherwise */
const insideOf = (client: object): Inside => {
  const inside = client as Inside;
  const missing = members.find((name) => typeof inside[name] !== 'function');
  if (missing !== undefined) {
    throw new Error(`this is not @eventstore/db-client ${checkedClient}: its client has no ${missing}`);
  }
  return inside;
};

/** Wraps what the client does after an error of a stream. @throws Error with a client that is built otherwise */
export const wrapErrorHandling = (client: object, wrap: (handled: Promise<void>) => Promise<void>): void => {
  const inside = insideOf(client);
  const { handleError } = inside;
  inside.handleError = (service, error) => wrap(handleError(service, error));
};

/** Shows each stream of batch appends as it is opened. @throws Error with a client that is built otherwise */
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

/**
 * Asks for answers as they are. gRPC says with each call that it can read gzip, which nothing turns off, and KurrentDB 25.1 and
 * later then compresses whatever it answers at its best level: reads are ten times slower. @throws Error with a client that is
 * built otherwise
 */
export const askUncompressed = (client: object): void => {
  const inside = insideOf(client);
  const { getChannel } = inside;
  inside.getChannel = async () => {
    const channel = await getChannel();
    const filters = channel.internalChannel?.filterStackFactory?.factories;
    if (filters === undefined) throw new Error('this is not @grpc/grpc-js 1.14: its channel has no filters');
    // Behind the one that sets the header.
    if (!filters.includes(uncompressed)) filters.push(uncompressed);
    return channel;
  };
};

/** What is called of the service of streams. */
interface Streams {
  read(request: InstanceType<typeof messages.ReadReq>, ...rest: readonly unknown[]): unknown;
  batchAppend(...rest: readonly unknown[]): unknown;
}

/**
 * A call of the service of streams, without a time limit: the client finds the server, connects again and adds the
 * credentials.
 * @param name tells the client's streams apart
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

/** The client's connection, pending as long as discovery has not chosen a node for it; undefined for a client without one. */
export const connectionOf = (client: object): Promise<{ close(): void }> | undefined =>
  (client as Partial<Inside>).getChannel?.();
