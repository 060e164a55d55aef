/** A file of LMDB's whose bytes are not what LMDB has written. The message names the file and the place. */
export class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}

/**
 * What LMDB says of pages that are not as it has written them. A reader that has met one is told MDB_BAD_TXN of all that it asks for
 * from then on.
 */
const ofPages = /MDB_(INVALID|CORRUPTED|PAGE_NOTFOUND|VERSION_MISMATCH|BAD_TXN)/;

/** Whether an error of LMDB's, at the open or later, says that its file is damaged. */
export const isOfPages = (error: Error): boolean => ofPages.test(error.message);
