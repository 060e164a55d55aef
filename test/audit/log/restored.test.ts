// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MemoryStore } from '../../support/memory-store.ts';
import { begun, gateway, write } from './scene.ts';
import { coveredBy, isCheckpoint, leavesIn, verify } from './signed-log.ts';

/** RESTORES=5000 is the long form. */
const numRuns = Number(process.env.RESTORES ?? 150);
const timeout = 60_000 + 300 * numRuns;

/** How often a gateway asks the store for something, or is told something, until an older copy is put there, and how much that has. */
const restore = fc.record({ step: fc.integer({ min: 1, max: 40 }), kept: fc.double({ min: 0, max: 1, noNaN: true }) });
const history = fc.record({
  restores: fc.array(restore, { minLength: 1, maxLength: 3 }),
  kinds: fc.array(fc.nat(4), { minLength: 4, maxLength: 20 }),
  waits: fc.infiniteStream(fc.nat(3)),
  looks: fc.infiniteStream(fc.boolean()),
});

/** What a log has before anybody can write to it: its identity, and the key. */
const least = 2;

const pause = (turns: number): Promise<void> =>
  turns === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, turns - 1));

/** Until all is signed: each event that comes makes gateways look that had been told of what is no longer there. */
const signed = async (store: MemoryStore): Promise<void> => {
  const end = performance.now() + 20_000;
  for (let n = 0; coveredBy(store.log) < leavesIn(store.log).length; n++) {
    if (performance.now() > end) throw new Error(`${coveredBy(store.log)} of ${leavesIn(store.log).length} are signed`);
    if (n % 20 === 0) write(store, 0, n);
    store.look(performance.now());
    await pause(2);
  }
};

describe.each([1, 2])('an older copy in the place of the log, under %i gateways', (count) => {
  test('leads to no false checkpoint, at whichever step it is put there, and all goes on', { timeout }, async () => {
    const went = new Set<string>();
    await fc.assert(
      fc.asyncProperty(history, async ({ restores, kinds, waits, looks }) => {
        const left = [...restores];
        let steps = 0;
        let store: MemoryStore | undefined;
        const delay = async (label: string): Promise<void> => {
          await pause(waits.next().value);
          const [next] = left;
          if (!store || !next || ++steps < next.step) return;
          left.shift();
          steps = 0;
          went.add(
            label.replace(/ (of|from|to) (project|organization|oauthToken|credentialUse|replay)-.*/, ' $1 a stream'),
          );
          store.goBack(least + Math.floor(next.kept * (store.log.length - least)));
        };
        const log = await begun({ delay });
        const gateways = await Promise.all(Array.from({ length: count }, () => gateway(log)));
        store = log;
        for (const [n, kind] of kinds.entries()) {
          write(store, kind, n);
          await pause(waits.next().value);
          if (looks.next().value) store.look(performance.now());
        }
        left.length = 0;
        await signed(store);
        await Promise.all(gateways.map(({ checkpointer }) => checkpointer.close()));
        const { findings, newest } = await verify(store.log);
        expect(findings).toEqual([]);
        expect(newest?.size).toBe(leavesIn(store.log).length);
        expect(store.log.filter(isCheckpoint).length).toBeGreaterThan(0);
        for (const { checkpointer } of gateways) expect(checkpointer.stopped).toBeUndefined();
      }),
      { numRuns, endOnFailure: true },
    );
    // Which steps a run comes upon is left to its seed; these are the most frequent.
    expect([...went]).toEqual(expect.arrayContaining(['an event of a read', 'delivery', 'read of all']));
  });
});
