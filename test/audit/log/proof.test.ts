import { expect, test } from 'vitest';
import { leafList, proofOf } from '../../../src/audit/log/proof.ts';
import { canonicalEvent, leafHash } from '../../../src/kernel/store/event-hash.ts';
import { isIncluded, rootOf } from '../../../src/merkle/tree.ts';
import { coveredBy, isCheckpoint, keysOf, leavesIn, randomOf, signedLog } from './signed-log.ts';

test('an event is in every tree of more leaves than its index, and in none of fewer', async () => {
  const { log } = await signedLog(randomOf(1), 4);
  const leaves = await leafList(
    (async function* () {
      yield* log.filter(isCheckpoint);
    })(),
    await keysOf(log),
  );
  for (const [index, event] of leavesIn(log).slice(0, coveredBy(log)).entries()) {
    const canonical = canonicalEvent(event);
    for (let size = 0; size <= coveredBy(log); size++) {
      const proof = proofOf(event, { canonical, leaves, indexOf: leaves.indexOf, size });
      if (size <= index) expect(proof).toBeUndefined();
      else {
        const hash = Buffer.from(leafHash(proof!.leaf), 'base64');
        expect(proof?.index).toBe(index);
        expect(isIncluded(hash, index, size, proof!.hashes, rootOf(leaves, size))).toBe(true);
      }
    }
  }
});
