import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** One opener's claim: an empty file with everything in its name, so that it fits on a full volume. */
export interface Claim {
  readonly name: string;
  readonly pid: number;
  /** 16 random hexadecimal digits. */
  readonly id: string;
  /** Identifies a boot of a kernel. */
  readonly kernel: string;
  readonly host: string;
}

const PATTERN = /^lock\.(\d+)\.([0-9a-f]{16})\.([0-9a-f]{12})\.(.+)$/;
const PART = /^lock\.([0-9a-f]{16})\.(sock|won)$/;
/** A claim follows its socket within milliseconds. */
const ORPHAN_MS = 60_000;

export const socketOf = ({ id }: Pick<Claim, 'id'>): string => `lock.${id}.sock`;
export const wonMarkOf = ({ id }: Pick<Claim, 'id'>): string => `lock.${id}.won`;

/** Equal for two processes only if they share a running kernel, even across containers. */
const identityOfKernel = (): string => {
  if (process.platform !== 'linux') return `${process.platform} ${hostname()}`;
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return randomBytes(16).toString('hex');
  }
};

export const ownKernel = createHash('sha256').update(identityOfKernel()).digest('hex').slice(0, 12);

export function ownClaim(): Claim {
  const id = randomBytes(8).toString('hex');
  const host =
    hostname()
      .replace(/[^\w.-]/g, '_')
      .slice(0, 64) || 'unnamed';
  return { name: `lock.${process.pid}.${id}.${ownKernel}.${host}`, pid: process.pid, id, kernel: ownKernel, host };
}

export function claimsIn(dir: string, except = ''): Claim[] {
  return readdirSync(dir).flatMap((name) => {
    const [, pid, id, kernel, host] = PATTERN.exec(name) ?? [];
    if (id === undefined || id === except) return [];
    return [{ name, pid: Number(pid), id, kernel: kernel!, host: host! }];
  });
}

/** The claim's file first, so that an interrupted removal leaves no claim. */
export function removeClaim(dir: string, claim: Claim): void {
  for (const name of [claim.name, wonMarkOf(claim), socketOf(claim)]) rmSync(join(dir, name), { force: true });
}

/** Removes the remains of interrupted removals. For the winner only; ages are measured by the volume's clock. */
export function removeOrphans(dir: string, own: Claim): void {
  const known = new Set([own, ...claimsIn(dir)].map(({ id }) => id));
  const { mtimeMs: now } = statSync(join(dir, own.name));
  for (const name of readdirSync(dir)) {
    const id = PART.exec(name)?.[1];
    if (id === undefined || known.has(id)) continue;
    const seen = statSync(join(dir, name), { throwIfNoEntry: false });
    if (seen !== undefined && now - seen.mtimeMs > ORPHAN_MS) rmSync(join(dir, name), { force: true });
  }
}
