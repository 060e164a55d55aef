/** What one request may cost. Sizes in bytes unless the name says otherwise. */
export interface Limits {
  /** Longest gRPC message accepted; as the client's own 17 MiB. */
  readonly messageBytes: number;
  /** The data of all events of one append; as on a real node, nothing else counts. */
  readonly appendBytes: number;
  /** Data, metadata and twice the type of one event. */
  readonly eventBytes: number;
  /** Roughly what the events of one append take on disk: it bounds how many there can be. */
  readonly storedBytes: number;
  /** Without the `$$` of metastreams, which the server itself puts in front. A key of LMDB has 1978 with them. */
  readonly streamNameBytes: number;
  readonly eventTypeBytes: number;
  readonly subscriptions: number;
  readonly regexChars: number;
  /** A subscriber with more than this unsent is fed from disk until it has caught up. */
  readonly liveBacklogBytes: number;
  readonly liveBacklogMessages: number;
  /** Below this many free bytes on the volume appends are refused; reads go on. */
  readonly freeSpaceBytes: number;
  /** A file that is given up when the volume gets full all the same. */
  readonly ballastBytes: number;
}

/** The append limit is the strictest production default: 1 MiB up to server version 25.0. */
export const defaultLimits: Limits = {
  messageBytes: 17 * 1024 * 1024,
  appendBytes: 1024 * 1024,
  eventBytes: 16 * 1024 * 1024 - 10_000,
  storedBytes: 64 * 1024 * 1024,
  streamNameBytes: 1900,
  eventTypeBytes: 2048,
  subscriptions: 1000,
  regexChars: 1024,
  liveBacklogBytes: 8 * 1024 * 1024,
  liveBacklogMessages: 1024,
  freeSpaceBytes: 64 * 1024 * 1024,
  ballastBytes: 16 * 1024 * 1024,
};
