import { closeSync, fstatSync, openSync, utimes } from 'node:fs';
import { join } from 'node:path';
import { type Claim, ownKernel, socketOf } from './claim.ts';
import { knock } from './claim-socket.ts';

const BEAT_MS = 1000;
const STAND_STILL_MS = 5000;

/**
 * 'dead' is certain. On this boot of this kernel the socket tells at once, whatever containers there are between: nobody
 * listens at it any more. Elsewhere, and where there is no socket to ask, the claim's heartbeat is all that can be seen:
 * 'unsure' until it has beaten once more ('live') or has stood still for five seconds ('dead').
 */
export type LifeSign = 'live' | 'dead' | 'unsure';

interface Beat {
  readonly mtimeNs: bigint;
  readonly seenAt: number;
  readonly hasMoved: boolean;
}

/** Looks at the claims of one folder again and again. */
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
    // Removed since: the next look will not come upon it.
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

/** A file system of the network asks its server for the time of a file that is opened, and may not for another. */
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

/** Touches a claim every second. @param gone called when somebody has removed it; @returns ends it */
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
