import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import { connect } from '../../src/eventstoredb/connect.ts';
import { openReadModels, type Projection, type ReadModels } from '../../src/kernel/projections/projection.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';
import { memoryModels } from '../support/memory-models.ts';
import { memoryStore } from '../support/memory-store.ts';
import { dump, tellSomething } from './commands.ts';
import { complain, type Figures, type Plan } from './figures.ts';
import { type Random, seeded } from './random.ts';
import { Scene } from './scene.ts';

const COMMANDS = 400;
/** Characters of JSON: fewer would mean that nothing was done. */
const LEAST_ROWS = 1000;
const REACHED_MS = 10_000;

/** What is kept outside of the rows is lost with the process: the mistake that this torture is there to find. */
const forgetful = (): Projection[] =>
  projections.map((projection) => {
    const heard = new Set<string>();
    return {
      ...projection,
      apply(event, rows) {
        heard.add(event.stream);
        projection.apply({ ...event, data: { ...event.data, name: `${event.data.name} of ${heard.size}` } }, rows);
      },
    };
  });

/**
 * D10: after random commands the read models that followed live, those built anew from the first event, those that went on
 * from a copy of their files taken at a random moment, and the same in memory have the same rows, byte for byte. One cycle
 * in two runs over a store that is killed in the middle. The canary's projections remember something outside of their rows.
 */
export async function torturedByRebuilds({ count, seed, from = 0, canary }: Plan, figures: Figures): Promise<void> {
  for (let number = from; number < from + count; number++, figures.cycles++) {
    const scene = new Scene();
    try {
      await cycle(scene, number, seeded(seed, number), canary === true, figures);
    } finally {
      await scene.end();
    }
  }
}

async function cycle(scene: Scene, number: number, random: Random, canary: boolean, figures: Figures): Promise<void> {
  const dir = scene.dir();
  const moment = random.between(50, COMMANDS - 50);
  const death = random.between(1, COMMANDS - 1);
  const isEmbedded = number % 2 === 1;
  let server = isEmbedded ? await scene.start(dir) : undefined;
  const name = `cycle ${number} (copied before command ${moment}${isEmbedded ? `, killed before ${death}` : ''})`;
  const quick = { retryMs: [5, 50], resubscribeMs: [5, 50] } as const;
  const store: EventStore = server
    ? connect({ endpoint: server.endpoint }, quick)
    : memoryStore({ random: random.next });
  scene.later(() => store.close());
  const mine = () => (canary ? forgetful() : projections);
  const open = async (folder: string): Promise<ReadModels> => {
    const models = await openReadModels({
      ours: (batch) => batch,
      dir: folder,
      store,
      logId: 'log',
      projections: mine(),
    });
    scene.later(() => models.close().catch(() => {}));
    return models;
  };
  const live = await open(join(scene.dir(), 'live'));
  const early = join(scene.dir(), 'early');
  const all = allAggregates(store, { whose: () => 'ours' });
  for (let i = 0; i < COMMANDS; i++) {
    if (i === moment) {
      const models = await open(early);
      await models.close();
    }
    if (i === death && server) {
      await server.kill();
      server = await scene.start(dir);
    }
    await tellSomething(all, random);
  }
  const copy = join(scene.dir(), 'copy');
  cpSync(early, copy, { recursive: true });
  const last = await newest(store);
  if (!(await live.reached(last.position, REACHED_MS))) complain(figures, `${name}: the live rows are behind`);
  const wanted = dump(live);
  if (wanted.length < LEAST_ROWS) complain(figures, `${name}: there are hardly any rows: ${wanted}`);
  const memory = memoryModels(store, mine());
  scene.later(() => memory.close());
  await memory.reached(last.position, 0);
  const others = { anew: await open(join(scene.dir(), 'anew')), 'from a copy': await open(copy), 'in memory': memory };
  for (const [way, models] of Object.entries(others)) {
    const rows = dump(models);
    if (rows === wanted) continue;
    const place = [...rows].findIndex((character, i) => character !== wanted[i]);
    const around = (text: string) => text.slice(place - 40, place + 40);
    complain(figures, `${name}, ${way}: ${around(rows)} instead of ${around(wanted)}`);
  }
  figures.acknowledged += last.count;
}

/** The last event of the log, and how many there are. */
async function newest(store: EventStore): Promise<{ readonly position: bigint; readonly count: number }> {
  let position = 0n;
  let count = 0;
  for await (const event of store.readAll({ from: 'start', direction: 'forwards', limit: Number.MAX_SAFE_INTEGER })) {
    position = event.position;
    count++;
  }
  return { position, count };
}
