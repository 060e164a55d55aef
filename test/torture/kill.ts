import { setTimeout as wait } from 'node:timers/promises';
import { complain, type Figures, type Plan } from './figures.ts';
import { Load } from './load.ts';
import { History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { Scene } from './scene.ts';

/** A life of so many cycles is one store and one history, so what an early cycle left is looked at again. */
export const CYCLES_PER_LIFE = 10;

/**
 * D1: kills the store at a random acknowledgement, and now and then while it starts, and compares what is there after
 * the restart. `count` is the number of kills. The canary answers appends before their commit.
 */
export async function torturedByKills({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  const settings = canary ? { faults: { answerBeforeCommit: true, commitDelayMs: 300 } } : { embedded: true };
  const end = from + count;
  for (let cycle = from - (from % CYCLES_PER_LIFE); cycle < end; ) {
    const scene = new Scene();
    try {
      const dir = scene.dir();
      const random = seeded(seed, cycle);
      const history = new History();
      const load = new Load(history, random, String(cycle));
      let store = await scene.start(dir, { settings });
      const endOfLife = Math.min(end, cycle + CYCLES_PER_LIFE);
      for (; cycle < endOfLife; cycle++, figures.cycles++) {
        const acks = random.between(20, 800);
        const killedInStartMs = random.next() < 0.2 ? random.between(20, 500) : undefined;
        const again = killedInStartMs === undefined ? '' : ` and ${killedInStartMs} ms into the next start`;
        const name = `cycle ${cycle} (killed after ${acks} acks${again})`;
        const writing = load.begin(scene.connect(store.endpoint));
        if (!(await writing.reached(history.acknowledged + acks)))
          complain(figures, `${name}: the store ended by itself: ${store.said()}`);
        await store.kill();
        await writing.ended;
        if (killedInStartMs !== undefined) {
          const dying = scene.spawn(dir, { settings });
          await wait(killedInStartMs);
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
}
