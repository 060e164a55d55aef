import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createDoor, type Server, type Socket, connect as to } from 'node:net';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import messages from '@eventstore/db-client/generated/streams_pb.js';
import { encodeBatchRefusal } from '../../src/embedded/codec/append-response.ts';
import { frame, Unframer } from '../../src/embedded/grpc/framing.ts';
import type { Right } from '../../src/eventstoredb/client/rights.ts';

export type Swallowed = 'appends' | 'answers to appends';
export type Refused = 'password' | 'rights' | Right;

/** A node of a cluster that is none: a gRPC proxy in front of one store, which plays what it is told. */
export interface Member {
  readonly port: number;
  /** Calls of one method that it has been asked since it was made, by the last part of its path. */
  asked(method: string): number;
  /** Answers nothing any more, and takes connections all the same. */
  freeze(): void;
  thaw(): void;
  /** Cuts every connection and refuses new ones. */
  kill(): void;
  revive(): Promise<void>;
  /**
   * Takes appends, or takes them to the store and keeps its answers; nothing more comes of those either, also on streams
   * that are open already. What it does not swallow any more is what begins from then on.
   */
  swallow(what: Swallowed | undefined): void;
  /**
   * Refuses whoever comes: for the `password`, as a database does too that does not know its users yet, or for want of
   * `rights`. Where a right is named, only what needs it, also on calls that are open already.
   */
  refuseUsers(why: Refused | undefined): void;
  close(): void;
}

export interface Cluster {
  readonly members: readonly Member[];
  /** Names all members, `nodePreference=leader`. */
  readonly url: string;
  /** From now on this member leads, or none does. */
  lead(member: number | undefined): void;
  /** The store behind them is at another place now. */
  moveTo(endpoint: string): void;
  close(): Promise<void>;
}

const states = gossip.MemberInfo.VNodeState;
const endStream = 1;
const notFound = '5';
const unavailable = '14';
const permissionDenied = '7';
const unauthenticated = '16';
const appends = ['/Append', '/BatchAppend'];

const refuse = (
  stream: ServerHttp2Stream,
  status: string,
  message: string,
  more: Record<string, string> = {},
): void => {
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': status,
    'grpc-message': message,
  };
  stream.respond({ ...headers, ...more }, { endStream: true });
};

const sessionTo = (endpoint: string): ClientHttp2Session => {
  if (!endpoint.startsWith('unix:')) return connect(`http://${endpoint}`);
  const path = endpoint.slice('unix:'.length);
  return connect('http://localhost', { createConnection: () => to(path) });
};

/**
 * What a member is reached through. A frozen process reads nothing and writes nothing, while the system goes on taking
 * connections for it; a dead one refuses them.
 */
const doorTo = async (inside: number) => {
  const open = new Set<Socket>();
  let isStill = false;
  const hold = (socket: Socket): void => void (isStill ? socket.pause() : socket.resume());
  const serve = (): Server =>
    createDoor((near) => {
      const far = to(inside, '127.0.0.1');
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(one);
        one.on('data', (chunk: Buffer) => other.write(chunk));
        one
          .on('error', () => {})
          .on('close', () => {
            open.delete(one);
            other.destroy();
          });
        hold(one);
      }
    });
  let server = serve().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    still(is: boolean): void {
      isStill = is;
      for (const socket of open) hold(socket);
    },
    close(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
    async open(): Promise<void> {
      server = serve().listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
};

/** The right that a message of a call needs. */
const rightFor = (path: string, message: Buffer): Right | undefined => {
  if (path.endsWith('/Read')) {
    const isOfAll = messages.ReadReq.deserializeBinary(message).getOptions()?.hasAll();
    return isOfAll ? 'read $all' : 'read streams';
  }
  if (path.endsWith('/Delete')) return 'delete streams';
  if (!path.endsWith('/BatchAppend')) return undefined;
  const { stream } = appendOf(message);
  return Buffer.from(stream).toString().startsWith('$$') ? 'write the metadata of streams' : 'append to streams';
};

const appendOf = (message: Buffer) => {
  const append = messages.BatchAppendReq.deserializeBinary(message);
  const stream = append.getOptions()?.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array();
  return { stream, correlation: append.getCorrelationId()?.serializeBinary() ?? new Uint8Array() };
};

const batchRefusal = (message: Buffer): Buffer => {
  const { stream, correlation } = appendOf(message);
  return frame(encodeBatchRefusal(correlation, stream, { detail: 'AccessDenied' }));
};

/**
 * Passes one call on and its answer back, with the trailers. The returned function keeps from then on what is asked, or
 * what is answered, from the other side.
 */
const relay = (
  near: ServerHttp2Stream,
  headers: Record<string, string>,
  session: ClientHttp2Session,
  denies: (message: Buffer) => boolean,
) => {
  const path = String(headers[':path']);
  const far = session.request(headers);
  let trailers: Record<string, string> = {};
  let isSwallowed = false;
  const begin = (headers: Record<string, string>): void => {
    if (near.headersSent) return;
    near.respond(headers, { waitForTrailers: true });
    near.on('wantTrailers', () => near.sendTrailers(trailers));
  };
  far.on('response', (answer, flags) => {
    if (isSwallowed || near.destroyed) return;
    if (flags & endStream && !near.headersSent)
      return near.respond(answer as Record<string, string>, { endStream: true });
    begin(answer as Record<string, string>);
    far.pipe(near);
  });
  far.on('trailers', (given) => {
    trailers = given as Record<string, string>;
  });
  far
    .on('error', () => isSwallowed || near.close(2))
    .on('close', () => isSwallowed || near.writableEnded || near.close(8));
  near.on('error', () => far.close(8)).on('close', () => far.close(8));
  const asked = new Unframer(2 ** 26);
  near.on('data', (chunk: Buffer) =>
    asked.push(chunk, (message) => {
      if (!denies(message)) far.write(frame(message));
      // Of a call that is many appends each is refused by itself.
      else if (path.endsWith('/BatchAppend')) {
        begin({ ':status': '200', 'content-type': 'application/grpc' });
        near.write(batchRefusal(message));
      } else refuse(near, permissionDenied, 'Access Denied', { exception: 'access-denied' });
    }),
  );
  near.on('end', () => far.end());
  return (what: Swallowed): void => {
    isSwallowed = true;
    if (what === 'appends') near.removeAllListeners('data').resume();
    else far.unpipe(near).resume();
  };
};

/** Three members in front of the store at `endpoint`; the first leads. */
export const clusterOf = async (endpoint: string): Promise<Cluster> => {
  let target = endpoint;
  let leader: number | undefined = 0;
  const members: Member[] = [];

  const said = (): Buffer => {
    const info = new gossip.ClusterInfo();
    members.forEach(({ port }, index) => {
      const at = new gossip.EndPoint().setAddress('127.0.0.1').setPort(port);
      const id = new shared.UUID().setString(`6b2f6d0a-0000-4000-8000-00000000000${index}`);
      const state = leader === undefined ? states.UNKNOWN : index === leader ? states.LEADER : states.FOLLOWER;
      info.addMembers(
        new gossip.MemberInfo()
          .setInstanceId(id)
          .setTimeStamp(String(Date.now() * 10_000))
          .setState(state)
          .setIsAlive(true)
          .setHttpEndPoint(at),
      );
    });
    return frame(info.serializeBinary());
  };

  const member = async (index: number): Promise<Member> => {
    const counts = new Map<string, number>();
    let swallowed: Swallowed | undefined;
    /** Streams of appends that are open. */
    const appending = new Set<ReturnType<typeof relay>>();
    let refuses: Refused | undefined;
    let far: ClientHttp2Session | undefined;
    let farTarget = '';

    const toStore = (): ClientHttp2Session => {
      if (!far || far.destroyed || far.closed || farTarget !== target) {
        farTarget = target;
        far = sessionTo(target).on('error', () => {});
      }
      return far;
    };

    const answer = (stream: ServerHttp2Stream, headers: Record<string, string>): void => {
      const path = String(headers[':path']);
      const method = path.slice(path.lastIndexOf('/') + 1);
      counts.set(method, (counts.get(method) ?? 0) + 1);
      if (path.endsWith('.Gossip/Read')) {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(said());
        return;
      }
      if (refuses === 'password') refuse(stream, unauthenticated, 'Unauthenticated');
      else if (refuses === 'rights') refuse(stream, permissionDenied, 'Access Denied', { exception: 'access-denied' });
      else if (leader === undefined) refuse(stream, unavailable, 'Server Is Not Ready');
      else if (index !== leader && headers['requires-leader'] === 'true') {
        const at = { 'leader-endpoint-host': '127.0.0.1', 'leader-endpoint-port': String(members[leader]!.port) };
        refuse(stream, notFound, 'Leader info available', { exception: 'not-leader', ...at });
      } else {
        const swallow = relay(
          stream,
          headers,
          toStore(),
          (message) => refuses !== undefined && rightFor(path, message) === refuses,
        );
        if (!appends.some((name) => path.endsWith(name))) return;
        appending.add(swallow);
        stream.on('close', () => appending.delete(swallow));
        if (swallowed) swallow(swallowed);
      }
    };

    const inner = createServer().on('session', (session) => session.on('error', () => {}));
    inner.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      answer(stream, headers as Record<string, string>);
    });
    inner.listen(0, '127.0.0.1');
    await once(inner, 'listening');
    const door = await doorTo((inner.address() as AddressInfo).port);

    return {
      port: door.port,
      asked: (method) => counts.get(method) ?? 0,
      freeze: () => door.still(true),
      thaw: () => door.still(false),
      kill: door.close,
      revive: door.open,
      swallow(what) {
        swallowed = what;
        if (what) for (const swallow of appending) swallow(what);
      },
      refuseUsers(why) {
        refuses = why;
      },
      close() {
        door.close();
        inner.close();
        far?.destroy();
      },
    };
  };

  for (let index = 0; index < 3; index++) members.push(await member(index));
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    members,
    url: `esdb://${hosts}?tls=false&nodePreference=leader`,
    lead(index) {
      leader = index;
    },
    moveTo(place) {
      target = place;
    },
    async close() {
      for (const each of members) each.close();
    },
  };
};
