import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Undefined where unknown, as on some virtual file systems. */
export type FreeBytes = (dir: string) => number | undefined;

export interface SpaceOptions {
  readonly dir: string;
  readonly threshold: number;
  readonly ballast: number;
  readonly freeBytes?: FreeBytes | undefined;
  readonly everyMs?: number | undefined;
}

export interface Shortage {
  readonly freeBytes: number;
  readonly neededBytes: number;
}

export interface FreeSpace {
  /** As it was found at the beginning; undefined where there was room. */
  readonly shortage: Shortage | undefined;
  /** Less than the threshold is free: appends are refused until space returns. */
  readonly low: boolean;
  /** Whether this many bytes find no room, even after the ballast is deleted. */
  lacks(bytes: number): boolean;
  /** Refuses appends until there is room or the store stops; then resolves. */
  held(): Promise<void>;
  /** Resolves when nothing is being written any more. */
  stop(): Promise<void>;
}

const EVERY_MS = 500;
/** Other programs may fill the volume at once, so appends need a recent value. */
const FRESH_MS = 10;
const BALLAST = 'ballast';

const ofVolume: FreeBytes = (dir) => {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return undefined;
  }
};

export const isShort = (dir: string, threshold: number, freeBytes: FreeBytes = ofVolume): boolean =>
  (freeBytes(dir) ?? Number.POSITIVE_INFINITY) < threshold;

/**
 * Watches the volume, because LMDB reports a full disk as an I/O error that ends the store. If others fill the disk, a ballast
 * file is deleted below half the threshold, so that accepted events can be written; it is restored when there is room.
 */
export function watchFreeSpace(options: SpaceOptions): FreeSpace {
  const { dir, threshold, freeBytes = ofVolume } = options;
  const ballast = layBallast(join(dir, BALLAST), options.ballast);
  let isLow = false;
  let isHeld = false;
  let lookedAt = 0;
  const waiting: (() => void)[] = [];
  const look = (): number => {
    lookedAt = performance.now();
    const free = freeBytes(dir) ?? Number.POSITIVE_INFINITY;
    isLow = free < threshold;
    if (free < threshold / 2) ballast.giveUp();
    return free;
  };
  const wake = () => {
    isHeld = false;
    for (const resolve of waiting.splice(0)) resolve();
  };
  const timer = setInterval(() => {
    if (look() > 2 * (threshold + options.ballast)) ballast.lay();
    if (!isLow) wake();
  }, options.everyMs ?? EVERY_MS);
  timer.unref();
  const found = look();
  return {
    shortage: isLow ? { freeBytes: found, neededBytes: threshold } : undefined,
    get low() {
      if (performance.now() - lookedAt > FRESH_MS) look();
      return isLow || isHeld;
    },
    lacks(bytes) {
      if (look() >= bytes) return false;
      ballast.giveUp();
      return look() < bytes;
    },
    held() {
      isHeld = true;
      return new Promise((resolve) => waiting.push(resolve));
    },
    stop() {
      clearInterval(timer);
      wake();
      return ballast.laid();
    },
  };
}

const PIECE = 64 * 1024;

/** In pieces, because an idle process would keep the whole in memory until the next garbage collection. */
async function* noise(size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; left -= PIECE) yield promisify(randomBytes)(Math.min(left, PIECE));
}

/** A file that exists to be deleted. Random bytes, because some file systems compress. */
function layBallast(path: string, size: number): { lay(): void; laid(): Promise<void>; giveUp(): void } {
  let lying = existsSync(path);
  let laying: Promise<void> | undefined;
  return {
    lay() {
      if (lying || laying !== undefined || size === 0) return;
      const draft = `${path}.new`;
      laying = writeFile(draft, noise(size), { mode: 0o600 })
        .then(() => rename(draft, path))
        .then(() => {
          lying = true;
        })
        .catch(() => rm(draft, { force: true }).catch(() => {}))
        .finally(() => {
          laying = undefined;
        });
    },
    laid: () => laying ?? Promise.resolve(),
    giveUp() {
      if (!lying) return;
      lying = false;
      rmSync(path, { force: true });
    },
  };
}
