import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { complain, type Figures, type Plan } from './figures.ts';
import { Load } from './load.ts';
import { difference, type Found, History } from './oracle.ts';
import { seeded } from './random.ts';
import { inspect, readAll } from './read-back.ts';
import { fromBuild, Scene } from './scene.ts';

/** Appends acknowledged beside one copy, at most: a store that grows as fast as it is copied never ends. */
const beside = 1_000;

/**
 * D14: copies by `weir store backup`'s own function while 16 clients write, and a copy of the stopped store. A copy has
 * everything that was acknowledged before it began, it starts, and it is the beginning of the next one and nothing else, the
 * last of the log itself. `count` is the number of hot copies. The canary holds each to what was acknowledged later.
 */
export async function torturedByBackups({ count, seed, canary }: Plan, figures: Figures): Promise<void> {
  const random = seeded(seed);
  const { backupStore } =
    await fromBuild<typeof import('../../src/embedded/maintenance/backup.ts')>('maintenance/backup');
  const scene = new Scene();
  try {
    const dir = scene.dir();
    let store = await scene.start(dir);
    const client = scene.connect(store.endpoint);
    const history = new History();
    const load = new Load(history, random, String(seed));
    let before: readonly Found[] = [];
    for (; figures.cycles < count; figures.cycles++) {
      const name = `copy ${figures.cycles}`;
      const begun = history.acknowledged;
      const writing = load.begin(client, begun + beside);
      await writing.reached(begun + random.between(50, 400));
      const out = join(scene.dir(), 'copy');
      const { acknowledged } = history;
      const report = await backupStore(dir, out);
      if (report.verdict !== 'ok') complain(figures, `${name} is ${report.verdict}`);
      await writing.stop();
      const after = history.acknowledged;
      await load.run(client, () => history.acknowledged > after);
      const wanted = history.acknowledgedIds(canary ? history.acknowledged : acknowledged);
      const there = await found(scene, out, wanted, figures, name);
      expectBeginning(figures, name, before, there);
      before = there;
      rmSync(out, { recursive: true });
    }
    expectBeginning(figures, 'the log', before, await readAll(client));
    await store.stop();
    const cold = join(scene.dir(), 'cold');
    cpSync(dir, cold, { recursive: true });
    store = await scene.start(cold);
    if (!canary) await inspect(scene.connect(store.endpoint), history, figures, 'the copy of the stopped store');
    await store.kill();
    figures.acknowledged = history.acknowledged;
  } finally {
    await scene.end();
  }
}

function expectBeginning(figures: Figures, name: string, before: readonly Found[], after: readonly Found[]): void {
  const fault = difference(name, after.slice(0, before.length), before);
  if (fault !== undefined) complain(figures, fault);
}

/** What is in a copy, which has to have what is wanted. */
async function found(
  scene: Scene,
  dir: string,
  wanted: readonly string[],
  figures: Figures,
  name: string,
): Promise<readonly Found[]> {
  const restored = await scene.start(dir);
  const there = await readAll(scene.connect(restored.endpoint));
  await restored.kill();
  const ids = new Set(there.map(({ id }) => id));
  for (const id of wanted) {
    if (ids.has(id)) continue;
    figures.lost++;
    complain(figures, `${name}: ${id} was acknowledged before it began and is not in it`);
  }
  return there;
}
