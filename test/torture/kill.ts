import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, noFigures, type Plan, percentile } from './figures.ts';
import { Load } from './load.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { Scene } from './scene.ts';

const CYCLES_PER_LIFE = 10;
const RESTART_LIMIT_MS = 2000;

/**
 * D1: kills the store at a random acknowledgement, and now and then while it starts, and compares what is there after
 * the restart. A life of ten cycles is one store and one history, so what an early cycle left is looked at again.
 * The canary answers appends before their commit.
 */
export async function torturedByKills({ count: cycles, seed, canary = false }: Plan): Promise<Figures> {
  const figures = noFigures(seed);
  const random = seeded(seed);
  const settings = canary ? { faults: { answerBeforeCommit: true, commitDelayMs: 300 } } : { embedded: true };
  while (figures.cycles < cycles) {
    const scene = new Scene();
    try {
      const dir = scene.dir();
      const history = new History();
      const load = new Load(history, random, String(figures.cycles));
      let store = await scene.start(dir, { settings });
      for (let cycle = 0; cycle < CYCLES_PER_LIFE && figures.cycles < cycles; cycle++, figures.cycles++) {
        const name = `cycle ${figures.cycles}`;
        const target = history.acknowledged + random.between(20, 800);
        const writing = load.begin(scene.connect(store.endpoint));
        if (!(await writing.reached(target))) complain(figures, `${name}: the store ended by itself: ${store.said()}`);
        await store.kill();
        await writing.ended;
        if (random.next() < 0.2) {
          const dying = scene.spawn(dir, { settings });
          await wait(random.between(100, 900));
          dying.kill('SIGKILL');
        }
        store = await scene.start(dir, { settings });
        figures.restartMs.push(store.readyMs);
        await inspect(scene.connect(store.endpoint), history, figures, name);
      }
      figures.acknowledged += history.acknowledged;
      await store.kill();
    } finally {
      await scene.end();
    }
  }
  const slowest = percentile(figures.restartMs, 0.99);
  // Of a few restarts on a machine that does other things as well, the slowest says nothing.
  if (cycles >= 100 && slowest > RESTART_LIMIT_MS) complain(figures, `restart p99 ${Math.round(slowest)} ms`);
  return figures;
}
