import { type FileHandle, open, stat } from 'node:fs/promises';
import { notesIn, parsedCheckpoint, type SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { type HashSource, rootOf } from '../../../merkle/tree.ts';

/** The log whose checkpoints go out, as this gateway has it. */
export interface OwnLog {
  /** Leaves of the tree up to whatever was signed. */
  readonly leaves: () => HashSource;
  /** How many of them are known here. */
  readonly size: () => number;
  /** How many leaves the newest checkpoint covers that is in the store now. */
  readonly covered: () => Promise<number>;
}

/** The file is the evidence of what this log has lost, and gets nothing of it. */
class OtherHistory extends Error {
  override readonly name = 'OtherHistory';
  constructor(size: number, has: 'fewer' | 'others') {
    super(
      `its last checkpoint is of ${size} leaves, and this log has ${has}, as where an older backup was restored: nothing is written to it; keep it, and start with a new file in AUDIT_SINKS`,
    );
  }
}

/** This gateway does not know yet what another one of the same log has signed: it waits, and nothing is wrong. */
export class NotYetKnown extends Error {
  override readonly name = 'NotYetKnown';
}

/** What is read at the end of a file: dozens of checkpoints. */
const tailBytes = 16 * 1024;

const lineFeed = 0x0a;

const readTail = async (file: FileHandle, size: number): Promise<Buffer> => {
  const from = Math.max(0, size - tailBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  return buffer.subarray(0, bytesRead);
};

/** The end of a file; empty where there is none, or it cannot be read: it may be written to all the same. */
const tailOf = async (path: string): Promise<Buffer> => {
  try {
    const about = await stat(path);
    // To open a pipe for reading would wait for somebody to write.
    if (!about.isFile() || about.size === 0) return Buffer.alloc(0);
    const file = await open(path, 'r');
    try {
      return await readTail(file, about.size);
    } finally {
      await file.close();
    }
  } catch {
    return Buffer.alloc(0);
  }
};

/** The largest checkpoint of a log at the end of a file: of gateways that share the file one may be behind. */
const largestIn = (tail: Buffer, origin: string): SignedCheckpoint | undefined =>
  notesIn(tail.toString())
    .notes.flatMap((note) => parsedCheckpoint(note) ?? [])
    .filter((each) => each.origin === origin)
    .toSorted((a, b) => a.size - b.size)
    .at(-1);

/** @throws OtherHistory where the log is not the one that a checkpoint is of; NotYetKnown where that cannot be said yet */
const holdAgainst = async ({ size, root }: SignedCheckpoint, { leaves, ...log }: OwnLog): Promise<void> => {
  if (size > log.size()) {
    // Who has brought it has appended it to the log before. While the store is away nobody can say.
    const covered = await log.covered().catch(() => Number.POSITIVE_INFINITY);
    if (covered >= size) throw new NotYetKnown();
    throw new OtherHistory(size, 'fewer');
  }
  if (!rootOf(leaves(), size).equals(root)) throw new OtherHistory(size, 'others');
};

/**
 * Appended and synced: what is in the file stays as it is, also where it may only be added to. A file that has seen more of the
 * log than there is, or something else, gets nothing.
 */
export const toFile =
  (path: string, log: OwnLog): ((checkpoint: SignedCheckpoint) => Promise<void>) =>
  async ({ signed, origin }) => {
    // Each time: others write to it too, and the log may have been replaced meanwhile.
    const tail = await tailOf(path);
    const largest = largestIn(tail, origin);
    if (largest) await holdAgainst(largest, log);
    // A write to it broke off, since its disk was full or its machine went down.
    const isBroken = tail.length > 0 && tail.at(-1) !== lineFeed;
    const file = await open(path, 'a', 0o644);
    try {
      await file.appendFile(isBroken ? `\n${signed}` : signed);
      await file.datasync();
    } finally {
      await file.close();
    }
  };
