import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, noFigures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { loopDisk, noLoopDisk } from './loop-disk.ts';
import { History } from './oracle.ts';
import { type Random, seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { isRoot, Scene, type Store } from './scene.ts';

const MIB = 1024 * 1024;
const RECOVERY_LIMIT_MS = 5000;

/** A volume that can be filled; `more` makes room without anybody restarting anything. */
interface Volume {
  readonly path: string;
  more(): void;
}

function tmpfs(scene: Scene, megabytes: number, later: number): Volume {
  const path = join(scene.dir(), 'mounted');
  mkdirSync(path);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
  scene.later(() => execFileSync('umount', ['--lazy', path]));
  return { path, more: () => void execFileSync('mount', ['-o', `remount,size=${later}m`, path]) };
}

function ext4(scene: Scene, megabytes: number, ballastMegabytes: number): Volume {
  const { path } = loopDisk(scene, megabytes);
  const ballast = join(path, 'ballast');
  writeFileSync(ballast, Buffer.alloc(ballastMegabytes * MIB));
  return { path, more: () => rmSync(ballast) };
}

/**
 * D5: fills the disk, frees it and goes on, with the free-space gate and without it. `count` is how often each is done.
 * The canary has no gate and goes on after failed commits.
 */
export async function torturedByFullDisks({ count, seed, canary = false }: Plan): Promise<Figures> {
  if (process.platform !== 'linux' || !isRoot) return skip(seed, 'full disks: only root on Linux can mount a small one');
  const figures = noFigures(seed);
  const random = seeded(seed);
  const hasLoop = noLoopDisk() === undefined;
  for (let cycle = 0; cycle < count; cycle++) {
    for (const kind of ['tmpfs', 'ext4'] as const) {
      if (kind === 'ext4' && (!hasLoop || canary)) continue;
      const scene = new Scene();
      try {
        const small = kind === 'tmpfs' ? tmpfs(scene, 6, 40) : ext4(scene, 16, 5);
        await withoutGate(scene, small, random, figures, `${kind} ${cycle} without gate`, canary);
        if (canary) continue;
        const gated = kind === 'tmpfs' ? tmpfs(scene, 24, 60) : ext4(scene, 40, 12);
        await withGate(scene, gated, random, figures, `${kind} ${cycle} with gate`);
      } finally {
        await scene.end();
      }
    }
  }
  return figures;
}

/** The raw case: the store stops at the first failed commit, and a restart has what was acknowledged. */
async function withoutGate(
  scene: Scene,
  volume: Volume,
  random: Random,
  figures: Figures,
  name: string,
  canary: boolean,
): Promise<void> {
  const settings = { limits: { freeSpaceBytes: 0 }, faults: canary ? { ignoreCommitErrors: true } : {} };
  const history = new History();
  const load = new Load(history, random, String(figures.cycles++));
  let store = await scene.start(volume.path, { settings });
  const began = performance.now();
  // A store that goes on after failed commits would go on for ever.
  await load.run(scene.connect(store.endpoint), () => canary && performance.now() - began > 3000);
  if (!canary) {
    await Promise.race([store.exited, wait(5000)]);
    if (store.process.exitCode === null) complain(figures, `${name}: the store goes on`);
  }
  if (/unhandled/.test(store.said())) complain(figures, `${name}: ${store.said()}`);
  await store.kill();
  store = await scene.start(volume.path, { settings });
  const read = await inspect(scene.connect(store.endpoint), history, figures, `${name}, full`);
  if (canary || read === undefined) {
    figures.acknowledged += history.acknowledged;
    return;
  }
  volume.more();
  await resumes(scene, store, load, history, figures, name);
  await store.kill();
  store = await scene.start(volume.path, { settings });
  await inspect(scene.connect(store.endpoint), history, figures, `${name}, freed`);
  await store.kill();
  figures.acknowledged += history.acknowledged;
}

/** What is in use: below the threshold appends are refused, reads go on, and it heals by itself. */
async function withGate(scene: Scene, volume: Volume, random: Random, figures: Figures, name: string): Promise<void> {
  const settings = { limits: { freeSpaceBytes: 8 * MIB } };
  const history = new History();
  const load = new Load(history, random, String(figures.cycles++));
  let store = await scene.start(volume.path, { settings });
  // Each writer ends with its first refusal.
  await load.run(scene.connect(store.endpoint), () => false);
  if (store.process.exitCode !== null) complain(figures, `${name}: the store ended: ${store.said()}`);
  await inspect(scene.connect(store.endpoint), history, figures, `${name}, refusing`);
  volume.more();
  await resumes(scene, store, load, history, figures, name);
  await store.kill();
  store = await scene.start(volume.path, { settings });
  await inspect(scene.connect(store.endpoint), history, figures, `${name}, freed`);
  if (/unhandled/.test(store.said())) complain(figures, `${name}: ${store.said()}`);
  await store.kill();
  figures.acknowledged += history.acknowledged;
}

/** Space has come back: appends are acknowledged again, soon and without a restart. */
async function resumes(
  scene: Scene,
  store: Store,
  load: Load,
  history: History,
  figures: Figures,
  name: string,
): Promise<void> {
  const began = performance.now();
  const wanted = history.acknowledged + 200;
  const client = scene.connect(store.endpoint);
  while (history.acknowledged < wanted && performance.now() - began < 2 * RECOVERY_LIMIT_MS) {
    await load.run(client, () => history.acknowledged >= wanted);
    await wait(20);
  }
  const took = performance.now() - began;
  if (took > RECOVERY_LIMIT_MS) complain(figures, `${name}: appends went on ${Math.round(took)} ms after space came back`);
}
