import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { projectKey } from '../../src/domain/key/project-key.ts';
import { actors } from '../../src/kernel/commands/actor.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { memoryStore } from '../support/memory-store.ts';
import { complain, type Figures, type Plan, skip } from './figures.ts';
import { Load } from './load.ts';
import { History } from './oracle.ts';
import { type Random, seeded } from './random.ts';
import { inspect } from './read-back.ts';
import { compile, noCompiler, Scene } from './scene.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** One jump each: back an hour, on a day, back ten years, a leap second, and slewing in small steps. */
const jumps: readonly ((random: Random) => number)[] = [
  () => -HOUR,
  () => DAY,
  () => -3652 * DAY,
  () => -1000,
  (random) => random.between(-50, 50),
];

/**
 * D8: the wall clock of the store jumps while 16 clients write. Positions grow, `created` never goes back, not even over a
 * restart, nothing crashes, and a key that has expired stays so when the clock goes back. `count` is the number of
 * jumps. The canary takes the time of an event from the clock as it is, and lets an expiry be a view of the clock alone.
 */
export async function torturedByTheClock({ count, seed, canary }: Plan, figures: Figures): Promise<void> {
  const isUsable = await comesBack(!canary);
  if (isUsable) complain(figures, 'a key that had expired works again after the clock went back');
  // A canary must see both.
  if (canary && !isUsable) return;
  if (noCompiler !== undefined) return skip(figures, `clock jumps: ${noCompiler}`);
  const settings = canary ? { faults: { trustClock: true } } : { embedded: true };
  const random = seeded(seed);
  const scene = new Scene();
  try {
    const offset = join(scene.dir(), 'offset');
    let ms = 0;
    const history = new History();
    const load = new Load(history, random, String(seed));
    const jump = (by: number) => {
      ms += by;
      // One machine has one clock: what is sent from now on is sent by the new time.
      load.clockOffset = ms;
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(ms));
      // In place: the store has the file mapped.
      writeFileSync(offset, bytes, { flag: 'r+' });
    };
    writeFileSync(offset, Buffer.alloc(8));
    const env = { LD_PRELOAD: compile('shims/clock.c', scene.dir()), CLOCK_OFFSET: offset };
    const dir = scene.dir();
    const store = await scene.start(dir, { settings, env });
    const client = scene.connect(store.endpoint);
    const writing = load.begin(client);
    for (; figures.cycles < count; figures.cycles++) {
      if (!(await writing.reached(history.acknowledged + 100))) {
        complain(figures, `the store ended at jump ${figures.cycles}: ${store.said()}`);
        break;
      }
      jump(jumps[figures.cycles % jumps.length]!(random));
      await wait(random.between(0, 20));
    }
    await writing.stop();
    await inspect(client, history, figures, 'after the jumps');
    await store.kill();
    // A restart with the clock far behind what it was.
    jump(-DAY);
    const again = await scene.start(dir, { settings, env });
    figures.restartMs.push(again.readyMs);
    const late = scene.connect(again.endpoint);
    const target = history.acknowledged + 100;
    await load.run(late, () => history.acknowledged >= target);
    await inspect(late, history, figures, 'after a restart in the past');
    await inOrderOfTime(late, figures);
    figures.acknowledged = history.acknowledged;
  } finally {
    await scene.end();
  }
}

async function inOrderOfTime(client: EventStoreDBClient, figures: Figures): Promise<void> {
  let before = 0;
  for await (const { event } of client.readAll()) {
    const created = event!.created.getTime();
    if (created < before) complain(figures, `${event!.streamId}@${event!.revision} is older than the event before it`);
    before = Math.max(before, created);
  }
}

/** Whether a key works again after the clock went back, where its expiry was recorded as an event or was not. */
async function comesBack(isLatched: boolean): Promise<boolean> {
  const clock = fixedClock(1_700_000_000_000);
  const keys = actors(projectKey, { store: memoryStore(), clock });
  const context = { actor: { type: 'system', id: 'torture' } } as const;
  const fields = {
    organizationId: 'org_1',
    projectId: 'proj_1',
    name: 'k',
    permissions: [],
    pepperId: 'p',
    redactedValue: 'r',
  };
  const expiresAt = clock.at + HOUR;
  await keys.dispatch('key_1', 'create', { ...fields, digest: 'd', expiresAt, at: clock.at }, context);
  clock.at += 2 * HOUR;
  if (isLatched) await keys.dispatch('key_1', 'expire', { at: clock.at }, context);
  clock.at -= 2 * HOUR;
  const { state } = await keys.dispatch('key_1', 'expire', { at: clock.at }, context);
  return state.status === 'active' && (state.data.expiresAt ?? 0) > clock.at;
}
