import { randomBytes } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startOf } from './process-identity.ts';

/** Another process has the store open. */
export class StoreLocked extends Error {
  readonly pid: number;

  constructor(dir: string, pid: number) {
    super(`The event store in ${dir} is in use by process ${pid}.`);
    this.name = 'StoreLocked';
    this.pid = pid;
  }
}

interface Claim {
  readonly pid: number;
  readonly started: string;
  /** null until the holder serves; a holder that serves has won. */
  readonly endpoint: string | null;
  readonly won: boolean;
}

export interface Lock {
  /** A claim of a dead process was found: the store was not closed properly. */
  readonly unclean: boolean;
  announce(endpoint: string): void;
  release(): void;
}

const PATTERN = /^lock\.\d+\.[0-9a-f]{16}$/;
const SETTLE_MS = 5;
const SETTLE_TRIES = 400;

/**
 * Takes the store in `dir` for this process, or throws StoreLocked. Each opener first puts down a lock file of its
 * own, under a name nobody else has and complete from the first moment, and only then looks for others. So of two
 * openers at least one sees the other. Whoever sees a winner gives up; among undecided ones the lowest name waits
 * until the others have given up. A file whose process is dead, or whose process id now belongs to another process,
 * is removed; since no name is ever used twice, that can never remove a live one.
 */
export async function takeLock(dir: string): Promise<Lock> {
  const name = `lock.${process.pid}.${randomBytes(8).toString('hex')}`;
  const path = join(dir, name);
  const write = (claim: Claim, create: boolean): void => {
    const draft = join(dir, `draft-${name}`);
    writeFileSync(draft, JSON.stringify(claim), { mode: 0o600 });
    if (create) {
      linkSync(draft, path);
      rmSync(draft);
    } else renameSync(draft, path);
  };
  const mine: Claim = { pid: process.pid, started: startOf(process.pid) ?? '', endpoint: null, won: false };
  const release = () => rmSync(path, { force: true });
  let unclean = false;
  write(mine, true);
  try {
    for (let tries = 0; ; tries++) {
      const { live, dead } = claims(dir, name);
      for (const stale of dead) {
        unclean = true;
        rmSync(join(dir, stale), { force: true });
      }
      const rival =
        live.find((other) => other.claim.won || other.name < name) ?? (tries < SETTLE_TRIES ? null : live[0]);
      if (rival) throw new StoreLocked(dir, rival.claim.pid);
      if (live.length === 0) break;
      await wait(SETTLE_MS);
    }
    write({ ...mine, won: true }, false);
  } catch (error) {
    release();
    throw error;
  }
  return {
    unclean,
    announce: (endpoint) => write({ ...mine, won: true, endpoint }, false),
    release,
  };
}

/** The endpoint that the live holder of `dir` has announced, or null. */
export function runningEndpoint(dir: string): string | null {
  try {
    return claims(dir, '').live.find(({ claim }) => claim.won)?.claim.endpoint ?? null;
  } catch {
    return null;
  }
}

/** Whether somebody has the store in `dir` open, or is about to. */
export function isInUse(dir: string): boolean {
  return claims(dir, '').live.length > 0;
}

interface Found {
  readonly live: { readonly name: string; readonly claim: Claim }[];
  readonly dead: string[];
}

function claims(dir: string, except: string): Found {
  const found: Found = { live: [], dead: [] };
  for (const name of readdirSync(dir)) {
    if (name === except) continue;
    if (isDeadDraft(name)) found.dead.push(name);
    if (!PATTERN.test(name)) continue;
    const claim = readClaim(join(dir, name));
    if (claim === undefined) continue;
    if (startOf(claim.pid) === claim.started) found.live.push({ name, claim });
    else found.dead.push(name);
  }
  return found;
}

/** What a process left that died while it put its claim down. */
function isDeadDraft(name: string): boolean {
  const pid = /^draft-lock\.(\d+)\./.exec(name)?.[1];
  return pid !== undefined && startOf(Number(pid)) === null;
}

/** undefined when the file has just been removed. Files appear complete, so one that is no claim is damaged. */
function readClaim(path: string): Claim | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as Claim;
  } catch {
    return { pid: 0, started: 'damaged', endpoint: null, won: false };
  }
}
