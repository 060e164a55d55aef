import { encodeSingleMember, encodeSupportedMethods, type SupportedMethod } from '../codec/server-info.ts';
import type { Handler } from '../grpc/server.ts';
import { answer, oneRequest } from '../grpc/unary.ts';

const VERSION = '24.10.0';
const STREAMS = 'event_store.client.streams.streams';
const SUBSCRIPTIONS = 'event_store.client.persistent_subscriptions.persistentsubscriptions';

// Persistent subscriptions are not implemented. They are named here because without these entries the client refuses
// the call by itself, or makes it by HTTP/1.1 on the same port, and fails less clearly than with UNIMPLEMENTED.
const supported: readonly SupportedMethod[] = [
  { service: STREAMS, method: 'read', features: ['position', 'events'] },
  { service: STREAMS, method: 'append', features: [] },
  { service: STREAMS, method: 'delete', features: [] },
  { service: STREAMS, method: 'tombstone', features: [] },
  { service: STREAMS, method: 'batchappend', features: ['deadline_duration'] },
  { service: 'event_store.client.gossip.gossip', method: 'read', features: [] },
  ...['create', 'update', 'delete', 'read', 'list', 'getinfo', 'replayparked'].map((method) => ({
    service: SUBSCRIPTIONS,
    method,
    features: ['stream', 'all'],
  })),
  { service: SUBSCRIPTIONS, method: 'restartsubsystem', features: [] },
];

export function featuresMethod(): Handler {
  const message = encodeSupportedMethods(VERSION, supported);
  return oneRequest((_, call) => answer(call, message));
}

/** Where clients are to look for this node: a name or address, and a port. */
export interface Advertised {
  readonly host: string;
  readonly port: number;
}

export interface GossipOptions {
  /** The store's own id. */
  readonly instance: string;
  /** For every client. Without it, each is told the name by which it asked: for that it has a way and a certificate. */
  readonly advertise: Advertised | undefined;
  /** The port listened on; asked at each call, because one of 0 is known late. */
  readonly port: () => number;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

/** Gossip.Read: one member, this one. */
export function gossipMethod({ instance, advertise, port, now }: GossipOptions): Handler {
  return oneRequest((_, call) => {
    const at = advertise ?? askedBy(call.headers[':authority'], port());
    answer(call, encodeSingleMember(instance, at.host, at.port, Math.floor(now())));
  });
}

function askedBy(authority: string | undefined, port: number): Advertised {
  const parts = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(authority ?? '');
  return { host: parts?.[1] ?? '127.0.0.1', port: Number(parts?.[2] ?? port) };
}
