import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyOnLine } from '../gen/requests.ts';
import { cpuMicrosOf, loadNow } from '../machine/proc-stat.ts';
import { type Crowd, type Seeded, seedBeside } from '../seed/beside.ts';
import type { Stage } from '../stage.ts';
import type { Weir } from './weir.ts';

const tellMs = 1000;
/** A line of the file of keys, which all are of one length. */
const lineBytes = 151;

/** Makes organizations beside the running gateway, with a key a line in the file `out`, and waits until it knows them. */
export const seedOrganizations = async (
  stage: Stage,
  weir: Weir,
  crowd: Crowd,
  out: string,
): Promise<readonly Seeded[]> => {
  const keys = crowd.organizations * crowd.keys;
  const telling = setInterval(() => {
    const written = statSync(out, { throwIfNoEntry: false })?.size ?? 0;
    stage.tell(`seeding ${keys.toLocaleString('en-US')} keys`, Math.min(1, written / lineBytes / keys));
  }, tellMs);
  const seeded = await seedBeside({ DATA_DIR: weir.dataDir }, crowd, out).finally(() => clearInterval(telling));
  await until(stage, weir, readFileSync(out, 'utf8').trimEnd().split('\n').at(-1) ?? '');
  return seeded;
};

/** Seeds each crowd once, and returns the file with all their keys. */
export const seedKeys = async (stage: Stage, weir: Weir, crowds: readonly Crowd[]): Promise<string> => {
  const all = join(weir.dataDir, 'keys.ndjson');
  writeFileSync(all, '', { mode: 0o600 });
  for (const [i, crowd] of crowds.entries()) {
    if (stage.interrupted.aborted) return all;
    const out = join(weir.dataDir, `keys-${i}.ndjson`);
    await seedOrganizations(stage, weir, crowd, out);
    appendFileSync(all, readFileSync(out));
  }
  return all;
};

const pauseMs = 1000;
const readyMs = 600_000;

/** What the gateway says of itself where a read model goes no further: no wait will help then. */
const standstill = /[\w-]+ stands still at [^";]+/;

/**
 * The gateway learns of keys from the log: it is ready when it knows the last one.
 *
 * @throws Error where it never will, as a former build that does not know today's events
 */
const until = async (stage: Stage, weir: Weir, line: string): Promise<void> => {
  const { host, port } = weir.address;
  const headers = { authorization: `Bearer ${keyOnLine(line) ?? ''}` };
  for (const end = performance.now() + readyMs; !stage.interrupted.aborted; ) {
    const response = await fetch(`http://${host}:${port}/v1/models`, { headers });
    await response.arrayBuffer();
    if (response.status === 200) return;
    const ready = await fetch(`http://${host}:${port}/v1/ready`);
    const [reason] = standstill.exec(await ready.text()) ?? [];
    if (reason !== undefined) throw new Error(`A gateway cannot read the keys that were made for it: ${reason}`);
    if (performance.now() > end) throw new Error('A gateway still does not know the keys that were made for it.');
    stage.tell('waiting for the gateway to know the keys', 0.9);
    // Slowly: unknown keys are limited by address, and the wait is short or long.
    await sleep(pauseMs);
  }
};

const idleShare = 0.1;
const lookMs = 2000;
const settledMs = 600_000;
/** Well below the load average at which a run must not be quoted. */
const quietLoad = 1.5;

/** Waits for quiet: what reacts to a million new keys goes on for minutes, and is not what is measured; nor is the load that it leaves. */
export const settled = async (stage: Stage, { pid }: Weir): Promise<void> => {
  for (const end = performance.now() + settledMs; performance.now() < end && !stage.interrupted.aborted; ) {
    const before = cpuMicrosOf(pid);
    stage.tell('waiting for the gateway to have nothing to do', 0.95);
    await sleep(lookMs);
    const after = cpuMicrosOf(pid);
    if (!before || !after) return;
    const micros = after.user + after.system - before.user - before.system;
    if (micros < idleShare * lookMs * 1000 && loadNow() < quietLoad) return;
  }
};

/** Writes the text where the gateway can be told to read it from. */
export const fileFor = (stage: Stage, name: string, text: string): string => {
  const file = join(stage.dir, name);
  writeFileSync(file, text);
  return file;
};
