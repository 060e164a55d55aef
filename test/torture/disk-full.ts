import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { chargedOnAFullDisk } from './disk-charges.ts';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { loopDisk, noLoopDisk, noMount, tmpfs } from './loop-disk.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { Scene, type Store, tool } from './scene.ts';

const MIB = 1024 * 1024;
const RECOVERY_LIMIT_MS = 5000;
/** More than either disk has room for. */
const FAR_TOO_MANY = 400;
const STANDS_STILL_MS = 3000;
/** Share of events of 5 to 60 kB, so that a disk is soon full. */
const LARGE = 0.8;
const ACKS_AFTERWARDS = 50;
/** Of these the gate needs one half while it waits to look again. */
const THRESHOLD = 8 * MIB;

/** A volume that can be filled; `more` makes room without anybody restarting anything. */
interface Volume {
  readonly path: string;
  more(): void;
}

function inMemory(scene: Scene, megabytes: number, later: number): Volume {
  const path = tmpfs(scene, megabytes);
  return { path, more: () => tool('mount', '-o', `remount,size=${later}m`, path) };
}

/** What somebody else has put there takes most of it, until it is removed. */
function ext4(scene: Scene, megabytes: number, othersMegabytes: number): Volume {
  const { path } = loopDisk(scene, megabytes);
  const others = join(path, 'others');
  writeFileSync(others, Buffer.alloc(othersMegabytes * MIB));
  return { path, more: () => rmSync(others) };
}

/** One disk that gets full, and how it went. */
class Filling {
  readonly history = new History();
  readonly name: string;
  private readonly scene: Scene;
  private readonly volume: Volume;
  private readonly figures: Figures;
  private readonly load: Load;

  constructor(scene: Scene, volume: Volume, figures: Figures, seed: number, cycle: number, what: string) {
    this.scene = scene;
    this.volume = volume;
    this.figures = figures;
    this.name = `cycle ${cycle} (${what})`;
    this.load = new Load(this.history, seeded(seed, cycle), `${cycle}`, 16, LARGE);
  }

  start(settings: object): Promise<Store> {
    return this.scene.start(this.volume.path, { settings });
  }

  /** Each writer ends with its first refusal. */
  fill(store: Store, enough: () => boolean): Promise<void> {
    return this.load.run(this.scene.connect(store.endpoint), enough);
  }

  complain(sentence: string): void {
    complain(this.figures, `${this.name}: ${sentence}`);
  }

  inspect(store: Store, when: string) {
    return inspect(this.scene.connect(store.endpoint), this.history, this.figures, `${this.name}, ${when}`);
  }

  /** Space comes back: appends are acknowledged again, soon and without a restart. */
  async resumes(store: Store): Promise<number> {
    this.volume.more();
    const began = performance.now();
    const first = this.history.acknowledged;
    const client = this.scene.connect(store.endpoint);
    while (this.history.acknowledged === first && performance.now() - began < 2 * RECOVERY_LIMIT_MS) {
      await this.load.run(client, () => this.history.acknowledged > first);
      await wait(20);
    }
    const took = performance.now() - began;
    if (took > RECOVERY_LIMIT_MS) this.complain(`appends went on ${Math.round(took)} ms after space came back`);
    await this.load.run(client, () => this.history.acknowledged >= first + ACKS_AFTERWARDS);
    return took;
  }

  /** Everything is there after one more kill. */
  async end(store: Store, settings: object): Promise<void> {
    if (/unhandled/.test(store.said())) this.complain(store.said());
    await store.kill();
    const again = await this.start(settings);
    await this.inspect(again, 'freed');
    await again.kill();
    this.figures.acknowledged += this.history.acknowledged;
  }
}

/** Of a gateway's disk: what the store demands, and room for somebody else to take. */
const GATEWAY_MEGABYTES = 192;

/**
 * D5: fills the disk, frees it and goes on, with the free-space gate and, as where a disk is full at once, without it; then fills
 * that of a gateway, and holds what it has answered against what it has charged. `count` is how often each is done on tmpfs and on
 * ext4. The canaries' store has no gate and goes on after failed commits, and their gateway takes for written what finds no room.
 */
export async function torturedByFullDisks({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const [noDisk, noExt4] = [noMount(), noLoopDisk()];
  if (noDisk !== undefined) return skip(figures, `full disks: ${noDisk}`);
  if (noExt4 !== undefined) figures.notes.push(`not on ext4: ${noExt4}`);
  let slowest = 0;
  for (let cycle = from; cycle < from + count; cycle++, figures.cycles++) {
    for (const kind of noExt4 === undefined && !canary ? (['tmpfs', 'ext4'] as const) : (['tmpfs'] as const)) {
      const scene = new Scene();
      try {
        const small = kind === 'tmpfs' ? inMemory(scene, 6, 40) : ext4(scene, 16, 5);
        const raw = new Filling(scene, small, figures, seed, cycle, `${kind} without gate`);
        await withoutGate(raw, canary === true);
        const noticed = figures.wrong;
        const path = kind === 'tmpfs' ? tmpfs(scene, GATEWAY_MEGABYTES) : loopDisk(scene, GATEWAY_MEGABYTES).path;
        const end = (cycle % 2 === 0) === (kind === 'tmpfs') ? 'SIGKILL' : 'SIGTERM';
        const name = `cycle ${cycle} (the money, ${kind}, ${end})`;
        // To fill a loop device takes longer than the short form has, on a machine that is busy.
        if (kind === 'tmpfs' || count > 1)
          await chargedOnAFullDisk(scene, { path, name, end, seed, cycle, canary: canary === true }, figures);
        if (canary) {
          if (noticed === 0 || figures.wrong === noticed)
            throw new Error('One of the two canaries has noticed nothing.');
          continue;
        }
        const larger = kind === 'tmpfs' ? inMemory(scene, 14, 40) : ext4(scene, 40, 18);
        slowest = Math.max(
          slowest,
          await withGate(new Filling(scene, larger, figures, seed, cycle, `${kind} with gate`)),
        );
      } finally {
        await scene.end();
      }
    }
  }
  figures.notes.push(`appends again at most ${Math.round(slowest)} ms after space came back`);
}

/** Whether nothing has been acknowledged for a while. */
function standsStill(history: History): () => boolean {
  let [acknowledged, since] = [-1, 0];
  return () => {
    if (history.acknowledged !== acknowledged) [acknowledged, since] = [history.acknowledged, performance.now()];
    return performance.now() - since > STANDS_STILL_MS;
  };
}

/** Full at once: nothing sees it coming. The store keeps what it cannot write until it can, also over a restart. */
async function withoutGate(filling: Filling, canary: boolean): Promise<void> {
  const settings = { limits: { freeSpaceBytes: 0 }, faults: canary ? { ignoreCommitErrors: true } : {} };
  const store = await filling.start(settings);
  // A store that goes on after failed commits would acknowledge for ever; one that waits for room answers nobody.
  const isStill = standsStill(filling.history);
  const filled = filling.fill(store, () => canary && filling.history.acknowledged > FAR_TOO_MANY);
  if (canary) await filled;
  else while (!isStill()) await wait(20);
  if (!canary) {
    const { exitCode, signalCode } = store.process;
    if (exitCode !== null || signalCode !== null) filling.complain(`the store ended by ${exitCode ?? signalCode}`);
    await filling.inspect(store, 'full');
    if (/unhandled/.test(store.said())) filling.complain(store.said());
  }
  await store.kill();
  await filled;
  const full = await filling.start(settings);
  await filling.inspect(full, 'full');
  if (canary) return;
  await filling.resumes(full);
  await filling.end(full, settings);
}

/** What is in use: below the threshold appends are refused, reads go on, and it heals by itself. */
async function withGate(filling: Filling): Promise<number> {
  const settings = { limits: { freeSpaceBytes: THRESHOLD } };
  const store = await filling.start(settings);
  await filling.fill(store, () => false);
  if (store.process.exitCode !== null) filling.complain(`the store ended: ${store.said()}`);
  await filling.inspect(store, 'refusing');
  const took = await filling.resumes(store);
  await filling.end(store, settings);
  return took;
}
