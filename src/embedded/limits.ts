/** Limits of one request. Bytes, unless the name says otherwise. */
export interface Limits {
  /** Longest gRPC message, as the client's own limit. */
  readonly messageBytes: number;
  /** Data of all events of an append; metadata does not count, as on a real node. */
  readonly appendBytes: number;
  /** Data, metadata and twice the type of one event. */
  readonly eventBytes: number;
  /** Approximate size of an append on disk, which bounds the number of its events. */
  readonly storedBytes: number;
  /** Without the `$$` of metastreams. LMDB allows keys of 1,978 bytes. */
  readonly streamNameBytes: number;
  readonly eventTypeBytes: number;
  readonly subscriptions: number;
  readonly regexChars: number;
  /** A subscriber with more unsent data is fed from disk until it has caught up. */
  readonly liveBacklogBytes: number;
  readonly liveBacklogMessages: number;
  /** With less free space appends are refused; reads continue. */
  readonly freeSpaceBytes: number;
  /** Size of a file that is deleted when the volume gets full. */
  readonly ballastBytes: number;
}

/** The append limit is the strictest default of real nodes: 1 MiB up to version 25.0. */
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
