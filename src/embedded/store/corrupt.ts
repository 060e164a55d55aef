/** Data on disk that is not what was written. The message names the place. */
export class StoreCorrupt extends Error {
  /** DATA_LOSS: how a call that came upon it ends. */
  readonly rpcCode = 15;

  constructor(message: string) {
    super(message);
    this.name = 'StoreCorrupt';
  }
}
