import { checkPages, type IsOurs } from '../../../lmdb-pages/check-pages.ts';
import { crc32c } from '../../../lmdb-pages/crc32c.ts';
import { DamagedFile } from '../../../lmdb-pages/damaged-file.ts';
import { type CheckedFile, checkMetaPages } from '../../../lmdb-pages/meta-pages.ts';
import { StoreCorrupt } from '../records/corrupt.ts';

/** The options of `openFiles`. */
const keeping = { isAlone: true, overlaps: false } as const;

/** Checks the raw meta pages before LMDB opens the file; a missing or empty file is fine. @throws StoreCorrupt */
export const checkMeta = (file: string): CheckedFile => asCorrupt(() => checkMetaPages(file, keeping));

/** Walks all trees of a file that no process writes to. @throws StoreCorrupt */
export const checkTrees = (file: string): void =>
  asCorrupt(() => {
    const { damaged, tables } = checkPages(file, {
      ...keeping,
      judge: (table) => (table === 'sn' ? isSoundStream : undefined),
    });
    for (const damage of damaged.values()) throw damage;
    // Each event has an index entry, and a stream's newest entry outlives its event.
    if ((tables.get('ev') ?? 0) > (tables.get('sx') ?? 0))
      throw new StoreCorrupt(`${file} is damaged: the index of its streams cannot be right.`);
  });

/** Reads would never ask for a name with a flipped bit, so its checksum is checked here. */
const isSoundStream: IsOurs = (name, nameStart, nameEnd, entry, start, length) => {
  const sum = length === 17 && crc32c(entry, start, start + 13, crc32c(name, nameStart, nameEnd));
  return sum === entry.readUInt32BE(start + 13);
};

const asCorrupt = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw error instanceof DamagedFile ? new StoreCorrupt(error.message) : error;
  }
};
