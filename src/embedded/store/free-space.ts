import { statfsSync } from 'node:fs';

export interface FreeSpace {
  /** Less than the threshold is free: appends are refused until space returns. */
  readonly low: boolean;
  stop(): void;
}

const EVERY_MS = 500;

/**
 * Watches the volume, because LMDB reports a full disk as an I/O error after which the store must stop. `statfs`
 * fails on some virtual file systems; nothing is refused there.
 */
export function watchFreeSpace(dir: string, threshold: number): FreeSpace {
  const space = { low: false, stop: () => clearInterval(timer) };
  const look = () => {
    try {
      const { bavail, bsize } = statfsSync(dir);
      space.low = bavail * bsize < threshold;
    } catch {
      space.low = false;
    }
  };
  const timer = setInterval(look, EVERY_MS);
  timer.unref();
  look();
  return space;
}
