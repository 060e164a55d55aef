import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs } from '../../src/clock.ts';
import { claim, isLack } from '../../src/data/account/claim.ts';
import { Credit, type CreditHold } from '../../src/data/account/credit.ts';
import { mostOf } from '../../src/data/account/meter.ts';
import type { Limited } from '../../src/data/account/spend-limits.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import { periodAt } from '../../src/domain/usage/period.ts';
import type { SpendLimit } from '../../src/domain/usage/spend-limit.ts';
import { free, noFunds } from '../support/accounts.ts';
import { settlement } from './some-request.ts';

const price = priceOf('m', { ...free, prompt: '0.000001', completion: '0.00001' });
const costOf = (input: number, output: number): number => mostOf(price, input, output, 0, 0);
const longest = 100;
const start = Date.UTC(2026, 10, 26, 12);

/** Two keys of one line, two other keys, two projects, one organization. */
const keys = [
  { key: 'k0', line: 'k0', project: 'p0' },
  { key: 'k0b', line: 'k0', project: 'p0' },
  { key: 'k1', line: 'k1', project: 'p0' },
  { key: 'k2', line: 'k2', project: 'p1' },
] as const;
const org = 'o';
const scopes = { k0: 'key', k1: 'key', k2: 'key', p0: 'project', p1: 'project', o: 'organization' } as const;
const ids = Object.keys(scopes) as (keyof typeof scopes)[];

interface Charge {
  readonly id: string;
  readonly owners: readonly string[];
  readonly at: number;
  readonly microDollars: number;
  isRecorded: boolean;
}
interface Flight {
  readonly of: (typeof keys)[number];
  readonly hold: CreditHold | null;
  /** When it began, which is the most that it costs. */
  readonly claimed: number;
  held: number;
  readonly owners: readonly string[];
  /** The owners, or none: it was asked with no limit in its way. */
  readonly heldOf: readonly string[];
  readonly input: number;
  readonly begunAt: number;
}

/** Everything that happens to limits, as lists that are added up each time. */
class Ledger {
  now = start;
  charges: Charge[] = [];
  flights: Flight[] = [];
  limits = new Map<string, SpendLimit>();
  /** The most that each may be charged in a period: its limit, or what was charged and in flight when that was set. */
  highest = new Map<string, number>();

  inPeriod(id: string, { interval }: SpendLimit, at: number, isRecorded?: true): number {
    return this.charges
      .filter(({ owners, isRecorded: is }) => owners.includes(id) && (isRecorded === undefined || is))
      .filter((each) => interval === 'total' || periodAt(interval, each.at) === periodAt(interval, at))
      .reduce((sum, { microDollars }) => sum + microDollars, 0);
  }

  /** After a change of the limit or the period. */
  measure(id: string, atLeast: number): void {
    const limit = this.limits.get(id)!;
    const inFlight = this.flights.filter(({ owners }) => owners.includes(id));
    const most = inFlight.reduce((sum, { claimed }) => sum + claimed, this.inPeriod(id, limit, this.now));
    this.highest.set(id, Math.max(atLeast, most));
  }

  leftOf(id: string): number {
    const limit = this.limits.get(id)!;
    const held = this.flights.filter(({ heldOf }) => heldOf.includes(id)).reduce((sum, each) => sum + each.held, 0);
    return limit.amount - this.inPeriod(id, limit, this.now) - held;
  }

  limitsOf(...of: readonly string[]): Limited[] {
    return of.flatMap((id) => {
      const limit = this.limits.get(id);
      if (limit === undefined) return [];
      const spent = (at: number): number => this.inPeriod(id, limit, at, true);
      return [{ id, scope: scopes[id as keyof typeof scopes], limit, spenders: of, spent }];
    });
  }
}

const step = fc.record({
  is: fc.constantFrom('ask', 'ask', 'ask', 'settle', 'settle', 'grow', 'record', 'restart', 'clock', 'limit', 'limit'),
  which: fc.nat(11),
  amount: fc.nat(1_500),
  named: fc.boolean(),
  interval: fc.constantFrom('day', 'week', 'month', 'total'),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const moves = [1, 3_600_000, dayMs / 2, dayMs, 7 * dayMs, 31 * dayMs, -60_000];

class World {
  readonly ledger = new Ledger();
  credit = new Credit(noFunds);
  made = 0;

  do({ is, which, amount, named, interval }: Step): void {
    const { ledger } = this;
    if (is === 'ask') this.ask(which, amount % 40, named ? 1 + (amount % longest) : null);
    else if (is === 'settle') this.settle(which, amount / 1_500);
    else if (is === 'grow') this.grow(ledger.flights[which % Math.max(1, ledger.flights.length)], amount);
    else if (is === 'record') this.record();
    else if (is === 'restart') this.restart();
    else if (is === 'clock') this.clock(moves[which % moves.length]!);
    else this.limit(ids[which % ids.length]!, named ? null : { amount: amount * 4, interval });
  }

  ask(which: number, input: number, maximum: number | null): void {
    const { ledger } = this;
    const of = keys[which % keys.length]!;
    const limits = ledger.limitsOf(of.line, of.project, org);
    const lefts = limits.map(({ id }) => ledger.leftOf(id));
    const left = Math.min(...lefts);
    const asked = {
      estimatedTokens: input,
      maxTokens: maximum ?? 40,
      longest: maximum ?? longest,
      cut: maximum === null ? { member: 'max_tokens', answers: 1, least: 1 } : undefined,
      images: 0,
      searches: 0,
    };
    const claimed = claim(this.credit, limits, price, asked, ledger.now);
    const whole = costOf(input, asked.longest);
    const shortest = costOf(input, maximum ?? 1);
    if (isLack(claimed)) {
      // Never while there is room for its dearest price.
      expect(limits.length > 0 && left < shortest).toBe(true);
      expect(claimed.left).toBe(left);
      return;
    }
    const most = costOf(input, claimed.maximum ?? asked.longest);
    const held = limits.length === 0 ? 0 : most;
    if (limits.length > 0) {
      expect(held).toBeLessThanOrEqual(left);
      expect(claimed.maximum === null).toBe(whole <= left);
      if (claimed.maximum !== null) expect(costOf(input, claimed.maximum + 1)).toBeGreaterThan(left);
    }
    const owners = [of.line, of.project, org];
    const heldOf = limits.length === 0 ? [] : owners;
    ledger.flights.push({ of, owners, hold: claimed.hold, claimed: most, held, heldOf, input, begunAt: ledger.now });
  }

  grow(flight: Flight | undefined, amount: number): void {
    if (!flight?.hold) return;
    flight.hold.grow(amount);
    flight.held = Math.max(flight.held, amount);
  }

  settle(which: number, share: number): void {
    const { ledger } = this;
    const [flight] = ledger.flights.splice(which % Math.max(1, ledger.flights.length), 1);
    if (flight !== undefined) this.charge(flight, Math.floor(flight.claimed * share), ledger.now);
    flight?.hold?.release();
  }

  charge({ of }: Flight, microDollars: number, at: number): void {
    const id = `r${this.made++}`;
    const owners = [of.line, of.project, org];
    this.ledger.charges.push({ id, owners, at, microDollars, isRecorded: false });
    const who = { organization_id: org, project_id: of.project, key_id: of.key };
    this.credit.settled(settlement(id, { ...who, micro_dollars: microDollars, settled_at: at }), of.line);
  }

  record(): void {
    const unsent = this.ledger.charges.filter(({ isRecorded }) => !isRecorded);
    for (const each of unsent) each.isRecorded = true;
    this.credit.recorded(unsent.map(({ id }) => id));
  }

  /** Requests in flight are charged for their input, when they began; the journal is in the log before the first request. */
  restart(): void {
    for (const flight of this.ledger.flights.splice(0))
      this.charge(flight, Math.min(flight.input, flight.claimed), flight.begunAt);
    this.record();
    this.credit = new Credit(noFunds);
  }

  clock(by: number): void {
    const { ledger } = this;
    ledger.now += by;
    for (const id of ledger.limits.keys()) ledger.measure(id, ledger.highest.get(id)!);
  }

  limit(id: string, limit: SpendLimit | null): void {
    const { ledger } = this;
    if (limit === null) ledger.limits.delete(id);
    else {
      ledger.limits.set(id, limit);
      ledger.measure(id, limit.amount);
    }
  }
}

describe('spend limits', () => {
  test('are never exceeded, and refuse no request that there is room for, whatever comes in whatever order', () => {
    const all: Step['interval'][] = ['day', 'week', 'month', 'total'];
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.array(fc.nat(1_500), { minLength: 6, maxLength: 6 }),
        (steps, amounts) => {
          const world = new World();
          const { ledger } = world;
          // Limits of some, unchanged until a step changes one.
          ids.forEach((id, at) => {
            if (amounts[at]! % 2 === 0) return;
            ledger.limits.set(id, { amount: 500 + amounts[at]! * 2, interval: all[(at + amounts[0]!) % 4]! });
            ledger.highest.set(id, 500 + amounts[at]! * 2);
          });
          for (const each of steps) {
            world.do(each);
            for (const [id, most] of ledger.highest) {
              const limit = ledger.limits.get(id);
              if (limit !== undefined) expect(ledger.inPeriod(id, limit, ledger.now)).toBeLessThanOrEqual(most);
            }
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('are exceeded by who checks and holds nothing', () => {
    class Unheld extends Credit {
      override hold(...given: Parameters<Credit['hold']>): CreditHold | null {
        const hold = super.hold(...given);
        hold?.release();
        return hold;
      }
    }
    const spentBy = (credit: Credit): number => {
      const world = new World();
      world.credit = credit;
      world.ledger.limits.set('p0', { amount: 5_000, interval: 'month' });
      const limits = world.ledger.limitsOf('k0', 'p0', org);
      const asked = { estimatedTokens: 10, maxTokens: 50, longest: 50, images: 0, searches: 0 };
      const begun = Array.from({ length: 200 }, () => claim(credit, limits, price, asked, start));
      return begun.filter((each) => !isLack(each)).length * costOf(10, 50);
    };
    expect(spentBy(new Credit(noFunds))).toBe(9 * 510);
    expect(spentBy(new Unheld(noFunds))).toBe(200 * 510);
  });

  const limitOf = (amount: number, interval: SpendLimit['interval'], spent = (_: number): number => 0): Limited => ({
    id: 'k0',
    scope: 'key',
    limit: { amount, interval },
    spenders: ['k0'],
    spent,
  });
  const charged = (credit: Credit, microDollars: number, at: number): void =>
    credit.settled(settlement(`at ${at}`, { micro_dollars: microDollars, settled_at: at }), 'k0');

  test('count a charge in the day, week or month in which it was settled, in UTC', () => {
    // The last millisecond of a Sunday that ends a month.
    const last = Date.UTC(2026, 4, 31, 23, 59, 59, 999);
    for (const interval of ['day', 'week', 'month'] as const) {
      const credit = new Credit(noFunds);
      const limit = limitOf(100, interval);
      charged(credit, 60, last);
      expect([credit.leftOf(limit, last), credit.leftOf(limit, last + 1)]).toEqual([40, 100]);
      charged(credit, 30, last + 1);
      expect([credit.leftOf(limit, last), credit.leftOf(limit, last + 1)]).toEqual([40, 70]);
    }
    const credit = new Credit(noFunds);
    charged(credit, 60, last);
    expect(credit.leftOf(limitOf(100, 'total'), last + 400 * dayMs)).toBe(40);
  });

  test('hold what was begun in the period before, because it is charged in this one', () => {
    const credit = new Credit(noFunds);
    const limit = limitOf(100, 'day');
    const hold = credit.hold([limit], 90, start)!;
    const tomorrow = start + dayMs;
    expect([credit.leftOf(limit, start), credit.leftOf(limit, tomorrow)]).toEqual([10, 10]);
    charged(credit, 50, tomorrow);
    hold.release();
    expect([credit.leftOf(limit, start), credit.leftOf(limit, tomorrow)]).toEqual([100, 50]);
  });

  test('know of charges from before anybody had a limit', () => {
    const credit = new Credit(noFunds);
    charged(credit, 60, start);
    expect(credit.leftOf(limitOf(100, 'day'), start)).toBe(40);
    credit.recorded([`at ${start}`]);
    expect(
      credit.leftOf(
        limitOf(100, 'day', () => 60),
        start,
      ),
    ).toBe(40);
  });

  test('of several gateways are not exceeded together where each has its part', () => {
    const together = (gateways: number): number => {
      let spent = 0;
      const each = Array.from({ length: 4 }, () => new Credit(noFunds, gateways));
      for (let round = 0; round < 50; round++) {
        const begun = spent;
        // Each goes on until it is refused, and knows of the others only what the log had.
        for (const credit of each) {
          const limit = limitOf(10_000, 'month', () => begun);
          const holds = [];
          for (let hold = credit.hold([limit], 7, start); hold !== null; hold = credit.hold([limit], 7, start))
            if (holds.push(hold) > 10_000) throw new Error('Nothing is ever held.');
          spent += 7 * holds.length;
          for (const hold of holds) hold.release();
        }
      }
      return spent;
    };
    expect(together(4)).toBeLessThanOrEqual(10_000);
    expect(together(4)).toBeGreaterThan(10_000 - 4 * 7);
    // The bound that is told for gateways that do not know of each other.
    expect(together(1)).toBeGreaterThan(10_000);
    expect(together(1)).toBeLessThanOrEqual(4 * 10_000);
  });

  test('of several gateways are exceeded by at most what the others hold, where each has its part', () => {
    let spent = 0;
    const limit = limitOf(10_000, 'month', () => spent);
    const [going, ...holding] = Array.from({ length: 4 }, () => new Credit(noFunds, 4)) as [Credit, ...Credit[]];
    const holds = holding.map((credit) => credit.hold([limit], 2_500, start));
    expect(holds).not.toContain(null);
    for (let hold = going.hold([limit], 7, start); hold !== null; hold = going.hold([limit], 7, start)) {
      hold.release();
      spent += 7;
    }
    // The log does not say what is held elsewhere.
    expect(spent).toBeGreaterThan(10_000 - 4 * 7);
    for (const credit of holding) expect(credit.hold([limit], 7, start)).toBeNull();
    expect(spent + 3 * 2_500).toBeLessThanOrEqual(10_000 + (3 / 4) * 10_000);
  });
});
