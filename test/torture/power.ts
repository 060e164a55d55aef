import { complain, type Figures, type Plan, skip } from './figures.ts';
import { CYCLES_PER_LIFE } from './kill.ts';
import { Load } from './load.ts';
import { fileSystems, loopDisk, noLoopDisk } from './loop-disk.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { DidNotStart, noCompiler, Scene, type Store } from './scene.ts';

const DISK_MIB = 512;

/**
 * D2: cuts the power of the disk at a random acknowledgement. `kill -9` alone cannot see a missing fsync, since what was
 * written stays in the kernel; a cut takes it away. `count` is the number of cuts. The canary commits without fdatasync
 * and must lose.
 */
export async function torturedByPowerCuts({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const why = noLoopDisk() ?? noCompiler;
  if (why !== undefined) return skip(figures, `power cuts: ${why}`);
  const settings = canary ? { faults: { noSync: true } } : { embedded: true };
  const kinds = fileSystems();
  figures.notes.push(`on ${kinds.join(' and ')}`);
  const end = from + count;
  for (let cycle = from - (from % CYCLES_PER_LIFE); cycle < end; ) {
    const scene = new Scene();
    try {
      const disk = loopDisk(scene, DISK_MIB, kinds[(cycle / CYCLES_PER_LIFE) % kinds.length]);
      const random = seeded(seed, cycle);
      const history = new History();
      const load = new Load(history, random, String(cycle));
      let store: Store | undefined = await scene.start(disk.path, { settings });
      const endOfLife = Math.min(end, cycle + CYCLES_PER_LIFE);
      for (; cycle < endOfLife && store !== undefined; cycle++, figures.cycles++) {
        const acks = random.between(20, 600);
        const name = `cycle ${cycle} (cut after ${acks} acks)`;
        const writing = load.begin(scene.connect(store.endpoint));
        if (!(await writing.reached(history.acknowledged + acks)))
          complain(figures, `${name}: the store ended by itself: ${store.said()}`);
        disk.cutPower();
        await store.kill();
        await writing.ended;
        disk.unmount();
        disk.mount();
        store = await restarted(scene, disk.path, settings);
        if (store === undefined) {
          figures.lost += history.acknowledged;
          complain(figures, `${name}: the store does not start any more`);
          continue;
        }
        figures.restartMs.push(store.readyMs);
        const read = await inspect(scene.connect(store.endpoint), history, figures, name);
        // What is lost stays lost, and would be counted again in every cycle of this life.
        if (read === undefined || read.verdict.lost.length > 0) {
          await store.kill();
          store = undefined;
        }
      }
      cycle = endOfLife;
      figures.acknowledged += history.acknowledged;
      await store?.kill();
    } finally {
      await scene.end();
    }
  }
}

async function restarted(scene: Scene, dir: string, settings: object): Promise<Store | undefined> {
  try {
    return await scene.start(dir, { settings });
  } catch (error) {
    if (error instanceof DidNotStart) return undefined;
    throw error;
  }
}
