import { statfsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Below this a volume counts as full: a commit takes some pages for rows and for their tree. */
export const leastBytes = 4 * 1024 * 1024;
const lookAgainMs = 250;

export interface Volume {
  /** Infinite where unknown, as on some virtual file systems. */
  readonly freeBytes: number;
  /** A file's blocks can be overwritten on a full volume: no copies on write, no compression, no shared blocks. */
  readonly isWrittenInPlace: boolean;
}

/** ext2 to ext4 and tmpfs. Files of XFS may share blocks. */
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
/** Whether a commit failed because the volume was full, possibly by a short write. It changed nothing and can be repeated. */
const isForWantOfRoom = (error: unknown, dir: string): boolean => {
  const { code } = error as { code?: unknown };
  return code === enospc || (code === eio && isFull(dir));
};

export interface DiskSpace {
  readonly none: boolean;
  /**
   * Writes once there is room, and again after a failure for lack of it, until `end`. Checking first matters: on a failed write
   * lmdb-js 3.5.6 writes its message beyond the end of a buffer.
   * @returns whether it is done
   * @throws every other failure
   */
  write(work: () => Promise<void>): Promise<boolean>;
  end(): void;
}

/** @param full called when a write finds the volume full, once until one succeeds */
export const diskSpace = (dir: string, full: (error: unknown) => void): DiskSpace => {
  let isWaiting = false;
  const ending = new AbortController();
  const { signal } = ending;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let wasFull = false;
  const looked = (): boolean => {
    const now = performance.now();
    if (now - lookedAt >= lookAgainMs) {
      lookedAt = now;
      wasFull = isFull(dir);
    }
    return wasFull;
  };
  return {
    get none() {
      return isWaiting || looked();
    },
    async write(work) {
      const wait = async (error: unknown): Promise<void> => {
        if (!isWaiting) full(error);
        isWaiting = true;
        if (!signal.aborted) await setTimeout(lookAgainMs, undefined, { signal }).catch(() => {});
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
      } while (!signal.aborted);
      return false;
    },
    end: () => ending.abort(),
  };
};
