import { encodeSingleMember, encodeSupportedMethods, type SupportedMethod } from '../codec/server-info.ts';
import type { Handler } from '../grpc/server.ts';
import { answer, oneRequest } from '../grpc/unary.ts';

const VERSION = '24.10.0';
const STREAMS = 'event_store.client.streams.streams';
const SUBSCRIPTIONS = 'event_store.client.persistent_subscriptions.persistentsubscriptions';

// Persistent subscriptions are not implemented. They are named here because without these entries the client calls
// an HTTP/1.1 interface on the same port, and fails there less clearly than with UNIMPLEMENTED.
const supported: readonly SupportedMethod[] = [
  { service: STREAMS, method: 'read', features: ['position', 'events'] },
  { service: STREAMS, method: 'append', features: [] },
  { service: STREAMS, method: 'delete', features: [] },
  { service: STREAMS, method: 'tombstone', features: [] },
  { service: STREAMS, method: 'batchappend', features: ['deadline_duration'] },
  { service: 'event_store.client.gossip.gossip', method: 'read', features: [] },
  { service: SUBSCRIPTIONS, method: 'list', features: ['stream', 'all'] },
  { service: SUBSCRIPTIONS, method: 'getinfo', features: ['stream', 'all'] },
  { service: SUBSCRIPTIONS, method: 'replayparked', features: ['stream', 'all'] },
];

export function featuresMethod(): Handler {
  const message = encodeSupportedMethods(VERSION, supported);
  return oneRequest((_, call) => answer(call, message));
}

/** Gossip.Read: one member, this one. `where` is asked at each call, because a port of 0 is known late. */
export function gossipMethod(instance: string, where: () => { address: string; port: number }, now: () => number) {
  return oneRequest((_, call) => {
    const { address, port } = where();
    answer(call, encodeSingleMember(instance, address, port, Math.floor(now())));
  });
}
