/** Data on disk that is not what was written. The message names the place. */
export class StoreCorrupt extends Error {
  /** DATA_LOSS: how a call that came upon it ends. */
  readonly rpcCode = 15;

  constructor(message: string) {
    super(message);
    this.name = 'StoreCorrupt';
  }
}

/**
 * What LMDB says of pages that are not as it has written them. A reader that has met one is told MDB_BAD_TXN of all that it asks for
 * from then on.
 */
const ofPages = /MDB_(INVALID|CORRUPTED|PAGE_NOTFOUND|VERSION_MISMATCH|BAD_TXN)/;

/** The error as damage, where it is LMDB's about its pages; otherwise as it is. @param what is damaged then */
export function asDamage(error: unknown, what: string): unknown {
  if (error instanceof StoreCorrupt) return error;
  const message = error instanceof Error ? error.message : String(error);
  return ofPages.test(message) ? new StoreCorrupt(`${what} is damaged: ${message}`) : error;
}
