import { isOfPages } from '../../../lmdb-pages/damaged-file.ts';

/** Data on disk that is not what was written. The message names the place. */
export class StoreCorrupt extends Error {
  /** DATA_LOSS: how a call that came upon it ends. */
  readonly rpcCode = 15;

  constructor(message: string) {
    super(message);
    this.name = 'StoreCorrupt';
  }
}

/** The error as damage, where it is LMDB's about its pages; otherwise as it is. @param what is damaged then */
export function asDamage(error: unknown, what: string): unknown {
  if (error instanceof StoreCorrupt) return error;
  const isDamage = error instanceof Error && isOfPages(error);
  return isDamage ? new StoreCorrupt(`${what} is damaged: ${error.message}`) : error;
}
