// Lane: middle: it runs at length
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Entry, lineOf } from '../../src/data/account/journal/entry.ts';
import { JournalFiles } from '../../src/data/account/journal/files.ts';
import { whose } from '../../src/domain/streams.ts';
import { type Settlement, settlementsOf, usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import { type EventStore, StoreUnavailable } from '../../src/kernel/store/store.ts';
import { type Parting, shipment } from '../../src/usage/shipment.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { type Fault, memoryStore } from '../support/memory-store.ts';
import { begun, settlement } from './some-request.ts';

/** So that a small file has several appends. */
const parting: Parting = { mostInEvent: 2, mostInAppend: 3 };

const settledLine = (settlement: Settlement): string => lineOf({ kind: 'settled', settlement });

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'weir-usage-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const clock = fixedClock(Date.UTC(2026, 10, 20, 12));
const day = 24 * 60 * 60_000;

const file = (number: number, ...settled: readonly Settlement[]): void =>
  writeFileSync(
    join(dir, `${number}.open`),
    settled.map((each) => lineOf({ kind: 'begun', begun: begun(each.request_id) }) + settledLine(each)).join(''),
  );

const sentTo = (store: ReturnType<typeof memoryStore>) =>
  store.log.flatMap(({ stream, type, data }) =>
    type !== 'usage.settled' ? [] : settlementsOf(data).map((each) => `${stream} ${each.request_id}`),
  );

describe('a file of the journal', () => {
  test('has what has a price of its own in the events of those that have it, and in no other', async () => {
    const store = memoryStore();
    const details = { service_tier: 'flex', web_search: 2 };
    file(1, settlement('a'), settlement('b', { settled_at: clock.at + day }), settlement('c', { details }));
    await shipment(new JournalFiles(dir), store, clock).ship(1);
    const [first, second] = store.log.map(({ data }) => data as { fields: string[]; rows: unknown[][] });
    expect([first!.fields.at(-1), first!.rows.map((row) => row.at(-1))]).toEqual(['details', [null, details]]);
    expect([second!.fields.length, second!.rows.map((row) => row.length)]).toEqual([18, [18]]);
    expect(store.log.flatMap(({ data }) => settlementsOf(data).map((each) => each.details ?? null))).toEqual([
      null,
      details,
      null,
    ]);
  });

  test('becomes events on the stream of the day on which its requests were settled', async () => {
    const store = memoryStore();
    file(1, settlement('a'), settlement('b', { settled_at: clock.at + day }), settlement('c'));
    const files = new JournalFiles(dir);
    await shipment(files, store, clock).ship(1);
    expect(sentTo(store)).toEqual(['usage-20261120 a', 'usage-20261120 c', 'usage-20261121 b']);
    expect(store.log.map((event) => [whose(event), event.type])).toEqual([
      ['ours', 'usage.settled'],
      ['ours', 'usage.settled'],
    ]);
    expect(settlementsOf(store.log[0]!.data)[0]).toEqual(settlement('a'));
    expect([files.list('open'), files.list('sent')]).toEqual([[], [1]]);
    // 400 days.
    expect([...store.ages]).toEqual([
      ['usage-20261120', 34_560_000],
      ['usage-20261121', 34_560_000],
    ]);
  });

  test('limits the age of a stream before its first event, and of decisions to 30 days', async () => {
    const store = memoryStore();
    const decided = { kind: 'decided', decision: { id: 'd', decided_at: clock.at } } as unknown as Entry;
    writeFileSync(join(dir, '1.open'), lineOf(decided));
    const limitAge = async (): Promise<void> => {
      throw new StoreUnavailable('away');
    };
    const files = new JournalFiles(dir);
    await expect(shipment(files, { ...store, limitAge }, clock).ship(1)).rejects.toThrow('away');
    expect(store.log).toEqual([]);
    await shipment(files, store, clock).ship(1);
    expect(store.log.map(({ stream }) => stream)).toEqual(['policyDecision-20261120']);
    expect([...store.ages]).toEqual([['policyDecision-20261120', 2_592_000]]);
  });

  test('is split where it is long: 500 requests in an event, 1,000 in an append', async () => {
    const appends: number[] = [];
    const store = memoryStore({
      fault(_, events) {
        appends.push(events.length);
        return 'none';
      },
    });
    file(1, ...Array.from({ length: 1_251 }, (_, i) => settlement(`r${i}`)));
    await shipment(new JournalFiles(dir), store, clock).ship(1);
    expect(appends).toEqual([2, 1]);
    expect(store.log.map(({ data }) => settlementsOf(data).length)).toEqual([500, 500, 251]);
    expect(new Set(sentTo(store)).size).toBe(1_251);
  });

  test('has its place written down once, unless others come between its appends', async () => {
    const store = memoryStore();
    const files = new JournalFiles(dir);
    const intend = vi.spyOn(files, 'intend');
    file(1, ...Array.from({ length: 9 }, (_, i) => settlement(`r${i}`)));
    await shipment(files, store, clock, parting).ship(1);
    expect(intend.mock.calls.map(([, places]) => places)).toEqual([
      { 0: { stream: 'usage-20261120', expected: 'no_stream' } },
    ]);
    file(2, ...Array.from({ length: 9 }, (_, i) => settlement(`s${i}`)));
    intend.mockClear();
    let appends = 0;
    const between: Pick<EventStore, 'append' | 'limitAge'> = {
      limitAge: store.limitAge,
      async append(...call) {
        if (++appends === 4) await rival(store, 'x');
        return store.append(...call);
      },
    };
    await shipment(files, between, clock, parting).ship(2);
    expect(Object.keys(intend.mock.calls.at(-1)![1])).toEqual(['0', '2']);
    expect(new Set(sentTo(store)).size).toBe(9 + 9 + 1);
  });

  /** Another gateway's, which comes first and goes on. */
  const rival = async (store: ReturnType<typeof memoryStore>, name: string): Promise<void> => {
    const other = join(dir, name);
    mkdirSync(other);
    writeFileSync(join(other, '1.open'), settledLine(settlement(name)));
    await shipment(new JournalFiles(other), store, clock).ship(1);
  };

  test('that is there already is not written again after a restart, although others write too', async () => {
    const store = memoryStore();
    file(1, settlement('a'));
    const files = new JournalFiles(dir);
    // The process ends between the store's answer and the note of it.
    files.sent = async () => {
      throw new Error('killed');
    };
    await rival(store, 'x');
    await expect(shipment(files, store, clock).ship(1)).rejects.toThrow('killed');
    await rival(store, 'y');
    await shipment(new JournalFiles(dir), store, clock).ship(1);
    expect(sentTo(store)).toEqual(['usage-20261120 x', 'usage-20261120 a', 'usage-20261120 y']);
  });

  test('is written twice by whoever forgets where it was sent: what the note of it is for', async () => {
    const store = memoryStore();
    file(1, settlement('a'));
    const files = new JournalFiles(dir);
    files.intend = async () => {};
    files.sent = async () => {};
    await rival(store, 'x');
    await shipment(files, store, clock).ship(1);
    await shipment(files, store, clock).ship(1);
    expect(sentTo(store)).toEqual(['usage-20261120 x', 'usage-20261120 a', 'usage-20261120 a']);
  });
});

test('whatever becomes of the appends, and whenever the process ends, everything is written once', async () => {
  const faults = fc.array(fc.constantFrom('none', 'lost', 'answer-lost', 'rival', 'killed', 'late'), { maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(
      faults,
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
      async (plan, files) => {
        const own = mkdtempSync(join(dir, 'run-'));
        const queue = [...plan];
        let rivals = 0;
        let isKilled = false;
        const store = memoryStore({
          fault: (stream): Fault => {
            const next = queue.shift() ?? 'none';
            if (next === 'killed') isKilled = true;
            if (next !== 'rival') return next === 'killed' ? 'none' : (next as Fault);
            const id = `00000000-0000-4000-8000-${String(rivals++).padStart(12, '0')}`;
            const metadata = {
              at: 1,
              actor: { type: 'system', id: 'x' },
              $correlationId: id,
              $causationId: id,
              v: 1,
            } as const;
            return { rival: [{ id, type: 'usage.settled', data: { of: stream, ...usageSettled([]) }, metadata }] };
          },
        });
        const killed: Pick<EventStore, 'append' | 'limitAge'> = {
          limitAge: store.limitAge,
          async append(...call) {
            const appended = await store.append(...call);
            if (!isKilled) return appended;
            isKilled = false;
            throw new Error('killed');
          },
        };
        // Of two days, so that a file has batches of several streams.
        const requests = files.map((many, file) =>
          Array.from({ length: many }, (_, i) => settlement(`r${file}-${i}`, { settled_at: clock.at + (i % 2) * day })),
        );
        for (const [i, some] of requests.entries())
          writeFileSync(join(own, `${i + 1}.open`), some.map(settledLine).join(''));
        let left = files.map((_, i) => i + 1);
        let { ship } = shipment(new JournalFiles(own), killed, clock, parting);
        for (let tries = 0; left.length > 0; tries++) {
          if (tries > 100) throw new Error('it does not end');
          try {
            await ship(left[0]!);
            left = left.slice(1);
          } catch (error) {
            if ((error as Error).message === 'killed')
              ship = shipment(new JournalFiles(own), killed, clock, parting).ship;
          }
        }
        const all = requests.flat().map((each) => `${usageStream(each.settled_at)} ${each.request_id}`);
        expect(sentTo(store).sort()).toEqual(all.sort());
      },
    ),
    { numRuns: 200 },
  );
});
