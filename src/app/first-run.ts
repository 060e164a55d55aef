import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { organizationRows } from '../../projections/organizations.ts';
import type { Administration } from '../admin/command.ts';
import { carryOut, type FirstRun, firstRunFile, isFirstRun, planFirstRun } from '../admin/organization/first-run.ts';
import { type Claim, claimFirstRun } from '../admin/organization/first-run-claim.ts';
import { systemClock } from '../clock.ts';
import type { Context } from '../kernel/commands/actor.ts';
import type { EventStore } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';

export interface FirstRunReport extends FirstRun {
  readonly file: string;
}

/** Longest wait for what another gateway makes on an empty store, counted from its claim. */
const othersMs = 30_000;
const lookAgainMs = 20;

const fileIn = (dataDir: string): string => join(dataDir, 'first-run.json');
const draftIn = (dataDir: string): string => `${fileIn(dataDir)}.next`;

/** @throws Error in one sentence if the file is damaged */
export const keptFirstRun = async (dataDir: string): Promise<FirstRun | null> => {
  const file = fileIn(dataDir);
  const text = await textOf(file);
  if (text === null) return null;
  try {
    return firstRunFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged: delete it, or put back what was in it.`, { cause });
  }
};

/**
 * Gives an empty store an organization, an Admin key, a project and a project key. Of several gateways one does: it
 * saves its plan, claims the first run in the log, and renames the plan to `first-run.json` (mode 0600) before it
 * makes anything. The others wait.
 * @param context the start: what is made is recorded as the operator's
 */
export const firstRun = async (
  admin: Administration,
  dataDir: string,
  context: Context,
): Promise<{ listening(baseUrl: string): Promise<FirstRunReport | null> }> => {
  const plan = await ownPlan(admin, dataDir);
  if (plan) await carryOut(admin, plan, context);
  return {
    async listening(baseUrl) {
      if (!plan) return null;
      if (plan.base_url !== baseUrl) await write(dataDir, { ...plan, base_url: baseUrl }).catch(unlessFull);
      return plan.base_url === '' ? { ...plan, base_url: baseUrl, file: fileIn(dataDir) } : null;
    },
  };
};

/** The plan of this gateway; null if another one made the store's organization. */
const ownPlan = async (admin: Administration, dataDir: string): Promise<FirstRun | null> => {
  const kept = await keptFirstRun(dataDir);
  if (!isFirstRun(admin, kept)) return null;
  if (kept && isThere(admin, kept.organization_id)) return kept;
  const plan = kept ?? (await draftOf(dataDir)) ?? planFirstRun(admin);
  if (!kept) await writeDraft(dataDir, plan);
  const self = { organizationId: plan.organization_id, host: hostname(), pid: process.pid };
  const claim = await claimFirstRun(admin.store, admin.clock, self);
  if (claim.organizationId === plan.organization_id) {
    if (!kept) await rename(draftIn(dataDir), fileIn(dataDir));
    return plan;
  }
  await rm(draftIn(dataDir), { force: true });
  await awaitOther(admin, claim);
  return null;
};

/** For a command that makes an organization: a server that starts meanwhile then makes none. */
export const takeFirstRun = async (
  store: EventStore,
  { host }: { readonly host: string },
  organizationId: string,
): Promise<void> => {
  await claimFirstRun(store, systemClock, { organizationId, host, pid: process.pid });
};

const isThere = ({ models }: Administration, organizationId: string): boolean =>
  models.get(organizationRows, organizationId) !== undefined;

const awaitOther = async (admin: Administration, { organizationId, host, pid, at }: Claim): Promise<void> => {
  const by = `process ${pid} on ${host}`;
  const age = Math.max(0, admin.clock.wall() - at);
  const end = performance.now() + othersMs - age;
  while (!isThere(admin, organizationId)) {
    if (performance.now() >= end) {
      const advice = 'if it does not finish it, make an organization with: weir org create';
      return publish('first_run.unfinished', { by, advice });
    }
    await wait(lookAgainMs);
  }
  publish('first_run.left', { to: by, organizationId });
};

const textOf = (file: string): Promise<string | null> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

/** A plan that a crash has left; an incomplete one was never claimed. */
const draftOf = async (dataDir: string): Promise<FirstRun | null> => {
  try {
    return firstRunFile.parse(JSON.parse((await textOf(draftIn(dataDir))) ?? ''));
  } catch {
    return null;
  }
};

const writeDraft = (dataDir: string, plan: FirstRun): Promise<void> =>
  writeFile(draftIn(dataDir), `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600, flush: true });

const write = async (dataDir: string, plan: FirstRun): Promise<void> => {
  try {
    await writeDraft(dataDir, plan);
    await rename(draftIn(dataDir), fileIn(dataDir));
  } catch (error) {
    await rm(draftIn(dataDir), { force: true });
    throw error;
  }
};

/** A server on a full disk still starts: only the address in the file is out of date. */
const unlessFull = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOSPC') throw error;
};
