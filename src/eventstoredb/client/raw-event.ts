/** An event with its bytes unchanged, for copies. */
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
  /** Milliseconds by the store's clock. */
  readonly created: number;
}
