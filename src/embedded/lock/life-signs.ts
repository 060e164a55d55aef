import { closeSync, fstatSync, openSync, utimes } from 'node:fs';
import { join } from 'node:path';
import { type Claim, ownKernel, socketOf } from './claim.ts';
import { knock } from './claim-socket.ts';

const BEAT_MS = 1000;
const STAND_STILL_MS = 5000;

/**
 * 'dead' is certain. On the same running kernel the socket decides at once. Otherwise the heartbeat of the claim does: 'unsure'
 * until it has changed once ('live') or has not for five seconds ('dead').
 */
export type LifeSign = 'live' | 'dead' | 'unsure';

interface Beat {
  readonly mtimeNs: bigint;
  readonly seenAt: number;
  readonly hasMoved: boolean;
}

export class LifeSigns {
  private readonly dir: string;
  private readonly beats = new Map<string, Beat>();

  constructor(dir: string) {
    this.dir = dir;
  }

  async of(claim: Claim): Promise<LifeSign> {
    if (claim.kernel === ownKernel) {
      const answer = await knock(this.dir, socketOf(claim));
      if (answer !== 'unknown') return answer === 'there' ? 'live' : 'dead';
    }
    const mtimeNs = lastBeat(join(this.dir, claim.name));
    // Removed since; the next look does not find it.
    if (mtimeNs === undefined) return 'unsure';
    const before = this.beats.get(claim.name);
    const now = performance.now();
    if (before?.mtimeNs === mtimeNs) {
      if (now - before.seenAt >= STAND_STILL_MS) return 'dead';
      return before.hasMoved ? 'live' : 'unsure';
    }
    this.beats.set(claim.name, { mtimeNs, seenAt: now, hasMoved: before !== undefined });
    return before === undefined ? 'unsure' : 'live';
  }
}

/** Opens the file, because a network file system refreshes the time only then. */
function lastBeat(path: string): bigint | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return fstatSync(file, { bigint: true }).mtimeNs;
  } finally {
    closeSync(file);
  }
}

/** Touches a claim every second. @param gone called when it was removed; @returns ends it */
export function beat(path: string, gone: () => void): () => void {
  let isOver = false;
  const timer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now, (error) => {
      if (isOver || error?.code !== 'ENOENT') return;
      clearInterval(timer);
      gone();
    });
  }, BEAT_MS);
  timer.unref();
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}
