import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createDoor, type Server, type Socket, connect as to } from 'node:net';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';

export type Swallowed = 'appends' | 'answers to appends';

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
   * `rights`.
   */
  refuseUsers(why: 'password' | 'rights' | undefined): void;
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

/** A gRPC message with its prefix: not compressed, length. */
const framed = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
};

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

/**
 * Passes one call on and its answer back, with the trailers. The returned function keeps from then on what is asked, or
 * what is answered, from the other side.
 */
const relay = (near: ServerHttp2Stream, headers: Record<string, string>, session: ClientHttp2Session) => {
  const far = session.request(headers);
  let trailers: Record<string, string> = {};
  let isSwallowed = false;
  far.on('response', (answer, flags) => {
    if (isSwallowed || near.destroyed || near.headersSent) return;
    if (flags & endStream) return near.respond(answer as Record<string, string>, { endStream: true });
    near.respond(answer as Record<string, string>, { waitForTrailers: true });
    near.on('wantTrailers', () => near.sendTrailers(trailers));
    far.pipe(near);
  });
  far.on('trailers', (given) => {
    trailers = given as Record<string, string>;
  });
  far
    .on('error', () => isSwallowed || near.close(2))
    .on('close', () => isSwallowed || near.writableEnded || near.close(8));
  near.on('error', () => far.close(8)).on('close', () => far.close(8));
  near.pipe(far);
  return (what: Swallowed): void => {
    isSwallowed = true;
    const [from, into] = what === 'appends' ? ([near, far] as const) : ([far, near] as const);
    from.unpipe(into);
    from.resume();
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
    return framed(info.serializeBinary());
  };

  const member = async (index: number): Promise<Member> => {
    const counts = new Map<string, number>();
    let swallowed: Swallowed | undefined;
    /** Streams of appends that are open. */
    const appending = new Set<ReturnType<typeof relay>>();
    let refuses: 'password' | 'rights' | undefined;
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
      else if (refuses) refuse(stream, permissionDenied, 'Access Denied', { exception: 'access-denied' });
      else if (leader === undefined) refuse(stream, unavailable, 'Server Is Not Ready');
      else if (index !== leader && headers['requires-leader'] === 'true') {
        const at = { 'leader-endpoint-host': '127.0.0.1', 'leader-endpoint-port': String(members[leader]!.port) };
        refuse(stream, notFound, 'Leader info available', { exception: 'not-leader', ...at });
      } else {
        const swallow = relay(stream, headers, toStore());
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
