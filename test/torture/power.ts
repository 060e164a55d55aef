import { complain, type Figures, noFigures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { fileSystems, loopDisk, noLoopDisk } from './loop-disk.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { DidNotStart, noCompiler, Scene, type Store } from './scene.ts';

const CYCLES_PER_LIFE = 10;

/**
 * D2: cuts the power of the disk at a random acknowledgement. `kill -9` alone cannot see a missing fsync, since what was
 * written stays in the kernel; a cut takes it away. The canary commits without fdatasync and must lose.
 */
export async function torturedByPowerCuts({ count: cycles, seed, canary = false }: Plan): Promise<Figures> {
  const why = noLoopDisk() ?? noCompiler;
  if (why !== undefined) return skip(seed, `power cuts: ${why}`);
  const figures = noFigures(seed);
  const random = seeded(seed);
  const settings = canary ? { faults: { noSync: true } } : { embedded: true };
  const kinds = fileSystems();
  figures.notes.push(kinds.join(' and '));
  for (let life = 0; figures.cycles < cycles; life++) {
    const scene = new Scene();
    try {
      const disk = loopDisk(scene, 512, kinds[life % kinds.length]);
      const history = new History();
      const load = new Load(history, random, String(figures.cycles));
      let store = await scene.start(disk.path, { settings });
      for (let cycle = 0; cycle < CYCLES_PER_LIFE && figures.cycles < cycles; cycle++) {
        const name = `cycle ${figures.cycles++}`;
        const target = history.acknowledged + random.between(20, 600);
        const writing = load.begin(scene.connect(store.endpoint));
        if (!(await writing.reached(target))) complain(figures, `${name}: the store ended by itself: ${store.said()}`);
        disk.cutPower();
        await store.kill();
        await writing.ended;
        disk.unmount();
        disk.mount();
        const again = await restarted(scene, disk.path, settings);
        if (again === undefined) {
          figures.lost += history.acknowledged;
          complain(figures, `${name}: the store does not start any more`);
          break;
        }
        store = again;
        figures.restartMs.push(store.readyMs);
        const read = await inspect(scene.connect(store.endpoint), history, figures, name);
        if (read === undefined || read.verdict.lost.length > 0) break;
      }
      figures.acknowledged += history.acknowledged;
      await store.kill();
    } finally {
      await scene.end();
    }
  }
  return figures;
}

async function restarted(scene: Scene, dir: string, settings: object): Promise<Store | undefined> {
  try {
    return await scene.start(dir, { settings });
  } catch (error) {
    if (error instanceof DidNotStart) return undefined;
    throw error;
  }
}
