import { isOfPages } from '../../../lmdb-pages/damaged-file.ts';

/** Data on disk is not what was written. */
export class StoreCorrupt extends Error {
  /** DATA_LOSS. */
  readonly rpcCode = 15;

  constructor(message: string) {
    super(message);
    this.name = 'StoreCorrupt';
  }
}

/** Turns LMDB's errors about its pages into StoreCorrupt. @param what the damaged thing */
export function asDamage(error: unknown, what: string): unknown {
  if (error instanceof StoreCorrupt) return error;
  const isDamage = error instanceof Error && isOfPages(error);
  return isDamage ? new StoreCorrupt(`${what} is damaged: ${error.message}`) : error;
}
