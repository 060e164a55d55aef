import { describe, expect, test } from 'vitest';
import type { DomainEvent, State } from '../../src/kernel/aggregate/aggregate.ts';
import { compile, type Table } from '../../src/kernel/aggregate/chart.ts';
import { aggregates } from '../support/all-aggregates.ts';
import { eventOf } from './some-event.ts';

/** Events that lie behind, and those whose cost is compared. */
const history = 10_000;
const measured = 1_000;

type Folding = Table<object, DomainEvent>;

/** Every event that can come again and again: the state it leaves open, how that is reached, and which event it is. */
const repeatable = aggregates.flatMap((aggregate) => {
  const table = compile(aggregate);
  const ways = new Map<string, DomainEvent[]>([['absent', []]]);
  for (const [status, way] of ways) {
    for (const type of table.events) {
      const next = table.next(status, type);
      if (next !== undefined && !ways.has(next)) ways.set(next, [...way, eventOf(type)]);
    }
  }
  return [...ways].flatMap(([status, way]) =>
    [...table.events]
      .filter((type) => table.next(status, type) === status)
      .map((type) => ({ name: `${type} of ${status}`, table, way, type })),
  );
});

/** Microseconds of this process's time for each of some more events. */
const costOf = (table: Folding, from: State<object>, events: readonly DomainEvent[]): number => {
  const before = process.cpuUsage();
  events.reduce(table.step, from);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / events.length;
};

const eventsOf = (type: string, count: number, prefix: string): DomainEvent[] =>
  Array.from({ length: count }, (_, i) => eventOf(type, `${prefix}_${i}`));

describe('an event costs the same however many lie behind it', () => {
  test('all kinds of streams are looked at', () => {
    expect(new Set(repeatable.map(({ name }) => name.slice(0, name.indexOf('.')))).size).toBeGreaterThanOrEqual(6);
    for (const type of ['organization.admin_key_issued', 'organization.oauth_client_issued', 'billing.credited']) {
      expect(repeatable.map((one) => one.type)).toContain(type);
    }
  });

  test.each(repeatable)('$name', ({ table, way, type }) => {
    const few = [...way, ...eventsOf(type, 100, 'few')];
    const many = [...way, ...eventsOf(type, history, 'many')];
    const fold = (events: readonly DomainEvent[]) => events.reduce(table.step, table.initial);
    const [short, long] = [fold(few), fold(many)];
    // The least of several rounds: what else the machine does only ever adds. A copy of 10,000 entries is dearer by far more.
    const ratios = Array.from({ length: 5 }, (_, round) => {
      const more = eventsOf(type, measured, `round_${round}`);
      const [after, before] = [costOf(table, long, more), costOf(table, short, more)];
      return after / before;
    });
    expect(Math.min(...ratios)).toBeLessThan(20);
  });
});
