// Lane: middle: it asks a gateway some thousand times
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { answers, requests, type Seen, seenOfAnswer, seenOfRequest } from './corpus.ts';
import { recordedStage } from './stage.ts';

/**
 * Bodies of clients and answers of upstreams that tests have seen once, with what became of them: what the client and the
 * upstream got, byte by byte, what was reserved and settled, and what policies read. `record.ts` writes down what becomes of
 * them now, where a change is meant.
 */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let stage: Awaited<ReturnType<typeof recordedStage>>;
beforeAll(async () => {
  stage = await recordedStage();
});
afterAll(() => stage.close());

/** What differs from what was written down, with the whole of what is there now. */
const differences = <T extends { readonly ways: Readonly<Record<string, string>> }>(
  recorded: T,
  seen: readonly Seen[],
) =>
  seen
    .filter(({ name, short }) => recorded.ways[name] !== short)
    .map(({ name, way }) => ({ recorded, name, way }))
    .concat(seen.length === Object.keys(recorded.ways).length ? [] : [{ recorded, name: 'models', way: seen[0]!.way }]);

describe('what becomes', () => {
  test('of recorded requests is what it was', async () => {
    const all = requests();
    expect(all.length).toBeGreaterThan(500);
    for (const each of all) {
      const found = differences(each, await seenOfRequest(stage, each));
      if (found.length > 0) expect(found).toEqual([]);
    }
  });

  test('of recorded answers is what it was', async () => {
    const all = answers();
    expect(all.length).toBeGreaterThan(300);
    for (const each of all) {
      const found = differences(each, await seenOfAnswer(stage, each));
      if (found.length > 0) expect(found).toEqual([]);
    }
  });
});
