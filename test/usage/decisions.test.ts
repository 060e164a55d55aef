// Lane: middle: it runs at length
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type Decision, decisionStream } from '../../src/domain/policy/decision-events.ts';
import { onSignal } from '../../src/telemetry.ts';
import { openUsage } from '../../src/usage/usage.ts';
import { noFunds } from '../support/accounts.ts';
import { memoryStore } from '../support/memory-store.ts';

/** What policies decide goes the way of the accounts of requests: the journal, and in batches to the event store. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });
const within = { timeout: 15_000 };

let dir: string;
let unrecorded: number[] = [];
let ended = () => {};
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-decisions-'));
  unrecorded = [];
  ended = onSignal((name, signal) => {
    if (name === 'policies.unrecorded') unrecorded.push((signal as { decisions: number }).decisions);
  });
});
afterEach(() => {
  ended();
  rmSync(dir, { recursive: true, force: true });
});

const journal = () => join(dir, 'journal');
const open = (store: ReturnType<typeof memoryStore>, everyMs = 20) =>
  openUsage({ dir: journal(), store, prices: [], funds: noFunds, clock: systemClock, everyMs });
const decision = (id: string, more: Partial<Decision> = {}): Decision => ({
  id,
  organization_id: 'org_1',
  policy_id: 'pol_1',
  version: 3,
  direction: 'response',
  verdict: 'blocked',
  score_basis_points: 7000,
  request_id: `req_${id}`,
  project_id: 'proj_1',
  key_id: 'key_1',
  decided_at: Date.UTC(2026, 0, 1, 12),
  ...more,
});
const sentTo = (store: ReturnType<typeof memoryStore>) =>
  store.log
    .filter(({ type }) => type === 'policies.decided')
    .flatMap(({ stream, data }) => (data.decisions as Decision[]).map((each) => ({ stream, ...each })));

describe('decisions', () => {
  test('are in the event store as they were made, on the stream of their day', async () => {
    const store = memoryStore();
    const book = await open(store);
    const next = decision('b', { verdict: 'error', score_basis_points: null, decided_at: Date.UTC(2026, 0, 2) });
    book.decide(decision('a'));
    book.decide(next);
    await expect
      .poll(() => sentTo(store), within)
      .toEqual([
        { stream: decisionStream(Date.UTC(2026, 0, 1)), ...decision('a') },
        { stream: decisionStream(Date.UTC(2026, 0, 2)), ...next },
      ]);
    await book.close();
    expect(unrecorded).toEqual([]);
  });

  test('wait in the journal while the store is away, and are sent once at the next start', async () => {
    const store = memoryStore();
    store.available = false;
    const first = await open(store);
    for (const id of ['a', 'b', 'c']) first.decide(decision(id));
    await first.close();
    expect(sentTo(store)).toEqual([]);
    store.available = true;
    await (await open(store)).close();
    await (await open(store)).close();
    expect(sentTo(store).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test.each([
    ['while it runs', 20],
    ['at its end', 3_600_000],
  ])('that there is no room for are counted, and told to the operator: %s', async (when, everyMs) => {
    const store = memoryStore();
    store.available = false;
    const first = await open(store);
    first.decide(decision('a'));
    await first.close();
    // As many files as wait at most for a store that is away.
    for (let number = 100; number < 2_148; number += 1) writeFileSync(join(journal(), `${number}.open`), '');
    const book = await open(store, everyMs);
    expect(book.whyFull).toBe('too many accounts wait for the event store');
    book.decide(decision('b'));
    book.decide(decision('c'));
    if (when === 'while it runs') await expect.poll(() => unrecorded, within).toEqual([2]);
    else expect(unrecorded).toEqual([]);
    await book.close();
    expect([unrecorded, sentTo(store)]).toEqual([[2], []]);
  });
});
