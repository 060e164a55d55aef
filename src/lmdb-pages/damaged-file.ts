export class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}

/** After a damaged page LMDB answers every call of that reader with MDB_BAD_TXN. */
const ofPages = /MDB_(INVALID|CORRUPTED|PAGE_NOTFOUND|VERSION_MISMATCH|BAD_TXN)/;

export const isOfPages = (error: Error): boolean => ofPages.test(error.message);
