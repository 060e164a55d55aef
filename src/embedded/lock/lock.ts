import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Claim, claimsIn, ownClaim, ownKernel, removeClaim, removeOrphans, socketOf, wonMarkOf } from './claim.ts';
import { ask, listenIn } from './claim-socket.ts';
import { beat, type LifeSign, LifeSigns } from './life-signs.ts';

export class StoreLocked extends Error {
  readonly pid: number;
  readonly holder: string;

  constructor(dir: string, { pid, host, kernel }: Claim) {
    const holder = `process ${pid}${kernel === ownKernel && host === ownClaim().host ? '' : ` on host ${host}`}`;
    super(`The event store in ${dir} is in use by ${holder}.`);
    this.name = 'StoreLocked';
    this.pid = pid;
    this.holder = holder;
  }
}

export interface Lock {
  /** A dead process left its claim, so the store was not closed properly. */
  readonly unclean: boolean;
  /** Resolves when another machine took over after this one stalled for five seconds. Nothing may be written then. */
  readonly lost: Promise<Error>;
  announce(endpoint: string): void;
  release(): void;
}

const LOOK_AGAIN_MS = 5;
const SETTLE_MS = 10_000;

/**
 * Takes the store in `dir`. Each opener writes its own claim before it looks for others, so of two openers at least one sees
 * the other. Whoever sees a winner gives up; of the undecided the lowest id waits until the others have. No name of a claim
 * is used twice, so the removal of a dead one never removes a live one.
 * @throws StoreLocked
 */
export async function takeLock(dir: string): Promise<Lock> {
  const mine = ownClaim();
  const path = join(dir, mine.name);
  let endpoint = '';
  const server = await listenIn(dir, socketOf(mine), () => endpoint);
  let lose: (error: Error) => void = () => {};
  const lost = new Promise<Error>((resolve) => {
    lose = resolve;
  });
  let rest = () => {};
  const release = () => {
    rest();
    removeClaim(dir, mine);
    server?.close();
  };
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' });
    rest = beat(path, () => lose(new Error(`Another machine has taken ${dir} over: this one had stood still.`)));
    const unclean = await outlast(dir, mine);
    writeFileSync(join(dir, wonMarkOf(mine)), '', { mode: 0o600 });
    removeOrphans(dir, mine);
    return {
      unclean,
      lost,
      announce(at) {
        endpoint = at;
      },
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Waits until there is no other claim. @returns whether a process had died with the store open */
async function outlast(dir: string, mine: Claim): Promise<boolean> {
  const signs = new LifeSigns(dir);
  const deadline = performance.now() + SETTLE_MS;
  for (let unclean = false; ; await wait(LOOK_AGAIN_MS)) {
    const others = await looked(dir, signs, mine);
    for (const { claim } of others.filter(({ sign }) => sign === 'dead')) {
      unclean = true;
      removeClaim(dir, claim);
    }
    const live = others.filter(({ sign }) => sign === 'live').map(({ claim }) => claim);
    const rival = live.find((other) => hasWon(dir, other) || other.id < mine.id);
    if (rival) throw new StoreLocked(dir, rival);
    if (others.every(({ sign }) => sign === 'dead')) return unclean;
    if (performance.now() > deadline && live[0]) throw new StoreLocked(dir, live[0]);
  }
}

const hasWon = (dir: string, claim: Claim): boolean => existsSync(join(dir, wonMarkOf(claim)));

const looked = (dir: string, signs: LifeSigns, mine?: Claim): Promise<{ claim: Claim; sign: LifeSign }[]> =>
  Promise.all(claimsIn(dir, mine?.id).map(async (claim) => ({ claim, sign: await signs.of(claim) })));

/** The endpoint of the process on this machine that has the store open, or null. */
export async function runningEndpoint(dir: string): Promise<string | null> {
  if (!existsSync(dir)) return null;
  for (const claim of claimsIn(dir)) {
    if (claim.kernel !== ownKernel || !hasWon(dir, claim)) continue;
    const endpoint = await ask(dir, socketOf(claim));
    if (endpoint !== '') return endpoint;
  }
  return null;
}

/** Whether a process has the store open or is opening it. */
export async function isInUse(dir: string): Promise<boolean> {
  const signs = new LifeSigns(dir);
  for (; ; await wait(LOOK_AGAIN_MS)) {
    const others = await looked(dir, signs);
    if (others.some(({ sign }) => sign === 'live')) return true;
    if (others.every(({ sign }) => sign === 'dead')) return false;
  }
}
