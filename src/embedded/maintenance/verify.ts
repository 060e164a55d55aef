import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { hasStore, whyNoStore } from '../has-store.ts';
import { isInUse } from '../lock/lock.ts';
import { checkMeta } from '../store/check/check-file.ts';
import { checkSeal } from '../store/commit/seal.ts';
import { DATA_FILE } from '../store/database.ts';
import { StoreCorrupt } from '../store/records/corrupt.ts';
import { inChild } from './in-child.ts';
import type { Damage, VerifyReport } from './report.ts';

export interface VerifyOptions {
  /** Called with the share done, 0 to 1. */
  readonly progress?: (share: number) => void;
  /** For the canary that shows what checksums find. */
  readonly skipChecksums?: boolean;
  /** The caller holds the lock of the store. */
  readonly isLocked?: boolean;
}

export class NoStore extends Error {
  constructor(dir: string) {
    super(`${whyNoStore(dir)}.`);
    this.name = 'NoStore';
  }
}

const TRIES = 20;
const PAUSE_MS = 10;
const tables: Readonly<Record<string, string>> = {
  meta: 'meta',
  sn: 'the streams',
  ev: 'the records',
  sx: 'the index',
};

/** Checks all files of a store, even in use, as of the last commit. @throws NoStore */
export async function verifyStore(dir: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  if (!hasStore(dir)) throw new NoStore(dir);
  const bad = await metaPages(dir, options.isLocked);
  if (bad !== undefined) return { ...nothing, verdict: 'corrupt', damages: [{ what: bad }] };
  let at: string | undefined;
  let report: VerifyReport | undefined;
  const early: Damage[] = [];
  const args = ['verify', dir, ...(options.skipChecksums ? ['--skip-checksums'] : [])];
  const { killedBy, error } = await inChild(args, (line) => {
    if ('report' in line) report = line.report;
    else if ('damage' in line) early.push(line.damage);
    else {
      at = line.at;
      options.progress?.(line.share);
    }
  });
  if (killedBy !== undefined) early.push({ what: `Reading ${placeOf(at)} kills the process (${killedBy}).` });
  else if (report === undefined) early.push({ what: `The store cannot be read: ${error}.` });
  if (early.length === 0 && report !== undefined) return report;
  return { ...(report ?? nothing), verdict: 'corrupt', damages: [...early, ...(report?.damages ?? [])] };
}

/** Checks the meta pages, and the seal unless the store is in use; then they may be read during a change, so it tries again. */
export async function metaPages(dir: string, isLocked = false): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      const { transaction } = checkMeta(join(dir, DATA_FILE));
      if (isLocked || !(await isInUse(dir))) checkSeal(dir, transaction);
      return undefined;
    } catch (error) {
      if (!(error instanceof StoreCorrupt)) throw error;
      if (tries === TRIES) return error.message;
      await wait(PAUSE_MS);
    }
  }
}

function placeOf(at: string | undefined): string {
  if (at === undefined) return 'the file';
  const [table = '', key = ''] = at.split(' ');
  const behind = table === 'ev' ? ` from position ${Number.parseInt(key, 16)} on` : '';
  return `${tables[table] ?? table}${behind}`;
}

const nothing = { events: 0, streams: 0, purgedStreams: 0, lastPosition: 0, damages: [], more: 0 };
