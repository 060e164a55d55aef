import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { complain, type Figures, type Plan } from './figures.ts';
import { Load } from './load.ts';
import { difference, type Found, History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect, readAll } from './read-back.ts';
import { fromBuild, Scene } from './scene.ts';

/**
 * D14: a copy of the stopped store, and copies by `weir store backup`'s own function while 16 clients write. A copy has
 * everything that was acknowledged before it began, it is the beginning of the log and nothing else, and it starts.
 * `count` is the number of hot copies. The canary keeps the copy that was made before.
 */
export async function torturedByBackups({ count, seed, canary }: Plan, figures: Figures): Promise<void> {
  const random = seeded(seed);
  const { backupStore } =
    await fromBuild<typeof import('../../src/embedded/maintenance/backup.ts')>('maintenance/backup');
  const scene = new Scene();
  try {
    const dir = scene.dir();
    let store = await scene.start(dir);
    const history = new History();
    const load = new Load(history, random, String(seed));
    const writing = load.begin(scene.connect(store.endpoint));
    const copies: { readonly dir: string; readonly acknowledged: number }[] = [];
    await writing.reached(200);
    for (; figures.cycles < count; figures.cycles++) {
      const out = join(scene.dir(), 'copy');
      const { acknowledged } = history;
      copies.push({ dir: out, acknowledged });
      const report = await backupStore(dir, out);
      if (report.verdict !== 'ok') complain(figures, `copy ${figures.cycles} is ${report.verdict}`);
      await writing.reached(acknowledged + random.between(50, 400));
    }
    await writing.stop();
    const all = await readAll(scene.connect(store.endpoint));
    await store.stop();
    const cold = join(scene.dir(), 'cold');
    cpSync(dir, cold, { recursive: true });
    store = await scene.start(cold);
    if (!canary) await inspect(scene.connect(store.endpoint), history, figures, 'the copy of the stopped store');
    await store.kill();
    for (const [i, copy] of copies.entries()) {
      const wanted = canary ? (copies[i + 1]?.acknowledged ?? history.acknowledged) : copy.acknowledged;
      await judge(scene, copy.dir, all, history.acknowledgedIds(wanted), figures, `copy ${i}`);
    }
    figures.acknowledged = history.acknowledged;
  } finally {
    await scene.end();
  }
}

async function judge(
  scene: Scene,
  dir: string,
  all: readonly Found[],
  wanted: readonly string[],
  figures: Figures,
  name: string,
): Promise<void> {
  const restored = await scene.start(dir);
  const there = await readAll(scene.connect(restored.endpoint));
  await restored.kill();
  const fault = difference(name, there, all.slice(0, there.length));
  if (fault !== undefined) complain(figures, fault);
  const ids = new Set(there.map(({ id }) => id));
  for (const id of wanted) {
    if (ids.has(id)) continue;
    figures.lost++;
    complain(figures, `${name}: ${id} was acknowledged before it began and is not in it`);
  }
}
