import { encodeSingleMember, encodeSupportedMethods, type SupportedMethod } from '../codec/server-info.ts';
import type { Handler } from '../grpc/server.ts';
import { answer, oneRequest } from '../grpc/unary.ts';

const VERSION = '24.10.0';
const STREAMS = 'event_store.client.streams.streams';
const SUBSCRIPTIONS = 'event_store.client.persistent_subscriptions.persistentsubscriptions';

// Without entries for persistent subscriptions the client refuses calls itself or tries HTTP/1.1, with less clear errors than
// UNIMPLEMENTED.
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

export interface Advertised {
  readonly host: string;
  readonly port: number;
}

export interface GossipOptions {
  readonly instance: string;
  /** Default: each client gets the name by which it asked, which it can reach and has a certificate for. */
  readonly advertise: Advertised | undefined;
  /** Called for each request, because port 0 is resolved late. */
  readonly port: () => number;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
}

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
