import { statfsSync } from 'node:fs';

/** With less than this a volume counts as full: a commit of rows takes some pages, and the pages of its tree. */
export const leastBytes = 4 * 1024 * 1024;
const lookAgainMs = 250;

/** The volume that a folder is on. */
export interface Volume {
  /** Without end where that cannot be told, as on some virtual file systems. */
  readonly freeBytes: number;
  /** A file that has its blocks can be written over when there are no others left: nothing is copied, compressed or shared. */
  readonly isWrittenInPlace: boolean;
}

/** ext2 to ext4 and tmpfs. Files of XFS may share their blocks with copies, and what no list names may do anything. */
const inPlace: ReadonlySet<number> = new Set([0xef53, 0x01021994]);

export const volumeOf = (dir: string): Volume => {
  try {
    const { bavail, bsize, type } = statfsSync(dir);
    return { freeBytes: bavail * bsize, isWrittenInPlace: inPlace.has(type) };
  } catch {
    return { freeBytes: Number.POSITIVE_INFINITY, isWrittenInPlace: false };
  }
};

export const isFull = (dir: string): boolean => volumeOf(dir).freeBytes < leastBytes;

const enospc = 28;
const eio = 5;
/**
 * Whether a commit has failed because the volume was full, which may be a write cut short: it left everything as it was,
 * and may be made again.
 */
const isForWantOfRoom = (error: unknown, dir: string): boolean => {
  const { code } = error as { code?: unknown };
  return code === enospc || (code === eio && isFull(dir));
};

/** Room for the files of one folder. */
export interface DiskSpace {
  /** Nothing can be written now. */
  readonly none: boolean;
  /**
   * Writes as soon as there is room, again where that was gone at the last moment, until it is done or `end` has been called.
   * A write that fails is to be avoided: LMDB as of lmdb-js 3.5.6 writes what it says about it behind the end of a buffer.
   * @returns whether it is done
   * @throws what it failed with otherwise
   */
  write(work: () => Promise<void>): Promise<boolean>;
  /** From now on nobody waits: what finds no room is not written. */
  end(): void;
}

/** @param full told once when a write has found the volume full, until one succeeds */
export const diskSpace = (dir: string, full: (error: unknown) => void): DiskSpace => {
  let isWaiting = false;
  let isOver = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let wasFull = false;
  let wake = () => {};
  const looked = (): boolean => {
    const now = performance.now();
    if (now - lookedAt >= lookAgainMs) {
      lookedAt = now;
      wasFull = isFull(dir);
    }
    return wasFull;
  };
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookAgainMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  return {
    get none() {
      return isWaiting || looked();
    },
    async write(work) {
      const wait = async (error: unknown): Promise<void> => {
        if (!isWaiting) full(error);
        isWaiting = true;
        if (!isOver) await pause();
      };
      do {
        if (isFull(dir)) {
          await wait(new Error(`The volume of ${dir} is full.`));
          continue;
        }
        try {
          await work();
          isWaiting = false;
          return true;
        } catch (error) {
          if (!isForWantOfRoom(error, dir)) throw error;
          await wait(error);
        }
      } while (!isOver);
      return false;
    },
    end() {
      isOver = true;
      wake();
    },
  };
};
