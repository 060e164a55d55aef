/** An event as its bytes, whatever they are: for copies, which must not go through anybody's idea of JSON. */
export interface RawEvent {
  readonly stream: string;
  /** 2^63 - 1 for a tombstone. */
  readonly revision: bigint;
  readonly position: bigint;
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly created: number;
}
