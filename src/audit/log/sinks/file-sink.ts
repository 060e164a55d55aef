import { type FileHandle, open, stat } from 'node:fs/promises';
import { notesIn, parsedCheckpoint, type SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type HashSource, rootOf } from '../../../merkle/tree.ts';

export interface OwnLog {
  /** Leaves of the tree up to the newest checkpoint that is known here. */
  readonly leaves: () => HashSource;
  readonly size: () => number;
  /** Leaves that the newest checkpoint in the store covers. */
  readonly covered: () => Promise<number>;
}

/** The file is the evidence of what this log has lost, so nothing is appended to it. */
class OtherHistory extends Error {
  override readonly name = 'OtherHistory';
  constructor(size: number, has: 'fewer' | 'others') {
    super(
      `its last checkpoint is of ${size} leaves, and this log has ${has}, as where an older backup was restored: nothing is written to it; keep it, and start with a new file in AUDIT_SINKS`,
    );
  }
}

/** Another gateway of the same log has signed more than is known here yet: not a failure. */
export class NotYetKnown extends Error {
  override readonly name = 'NotYetKnown';
}

/** Read from the end of the file: dozens of checkpoints. */
const tailBytes = 16 * 1024;

const lineFeed = 0x0a;

const readTail = async (file: FileHandle, size: number): Promise<Buffer> => {
  const from = Math.max(0, size - tailBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  return buffer.subarray(0, bytesRead);
};

/** Empty if there is no file yet, or one that may only be written. @throws any other error: the file may have another history */
const tailOf = async (path: string): Promise<Buffer> => {
  try {
    const about = await stat(path);
    // Opening a pipe for reading waits for a writer.
    if (!about.isFile() || about.size === 0) return Buffer.alloc(0);
    const file = await open(path, 'r');
    try {
      return await readTail(file, about.size);
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ENOENT', 'EACCES', 'EPERM'].includes(code)) throw error;
    return Buffer.alloc(0);
  }
};

const largestIn = (tail: Buffer, origin: string): SignedCheckpoint | undefined =>
  notesIn(tail.toString())
    .notes.flatMap((note) => parsedCheckpoint(note) ?? [])
    .filter((each) => each.origin === origin)
    .toSorted((a, b) => a.size - b.size)
    .at(-1);

/** @throws OtherHistory if the log contradicts the checkpoint; NotYetKnown if that is not known yet */
const holdAgainst = async ({ size, root }: SignedCheckpoint, { leaves, ...log }: OwnLog): Promise<void> => {
  if (size > log.size()) {
    // A checkpoint is appended to the log before it goes to a file. While the store is away this is not known.
    const covered = await log.covered().catch(() => Number.POSITIVE_INFINITY);
    if (covered >= size) throw new NotYetKnown();
    throw new OtherHistory(size, 'fewer');
  }
  if (!rootOf(leaves(), size).equals(root)) throw new OtherHistory(size, 'others');
};

/** Refuses a file that has seen more of the log than there is, or other leaves. Never overwrites. */
export const toFile =
  (path: string, log: OwnLog): ((checkpoint: SignedCheckpoint) => Promise<void>) =>
  async ({ signed, origin }) => {
    // Read each time: others write to the file, and the log may have been replaced.
    const tail = await tailOf(path);
    const largest = largestIn(tail, origin);
    if (largest) await holdAgainst(largest, log);
    // An earlier write was cut off by a full disk or a crash.
    const isBroken = tail.length > 0 && tail.at(-1) !== lineFeed;
    const file = await open(path, 'a', 0o644);
    try {
      await file.appendFile(isBroken ? `\n${signed}` : signed);
      await file.datasync();
    } finally {
      await file.close();
    }
  };
