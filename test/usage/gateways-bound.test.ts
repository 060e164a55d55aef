import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Credit } from '../../src/data/account/credit.ts';
import type { Limited } from '../../src/data/account/spend-limits.ts';
import { noFunds } from '../support/accounts.ts';
import { settlement } from './some-request.ts';

const at = Date.UTC(2026, 10, 26, 12);
/** Steps of a second. */
const second = 4;
/** Within which the log brings a charge to all gateways. */
const longest = 2 * second;

interface Told {
  readonly id: string;
  readonly microDollars: number;
  readonly gateway: number;
}

/** Gateways that share a limit, and the log that tells each of the charges of all. */
class Sharing {
  readonly amount: number;
  readonly #gateways: readonly { readonly credit: Credit; readonly limit: Limited; readonly phase: number }[];
  readonly #known: number[];
  /** What the log tells whom, by the step. */
  readonly #told = new Map<number, Told[]>();
  #asked = 0;
  #now = 0;
  spent = 0;

  constructor(amount: number, phases: readonly number[]) {
    this.amount = amount;
    this.#known = phases.map(() => 0);
    this.#gateways = phases.map((phase, i) => ({
      credit: new Credit(noFunds, phases.length),
      phase,
      limit: {
        id: 'key_1',
        scope: 'key',
        limit: { amount, interval: 'total' },
        spenders: ['key_1', 'proj_1', 'org_1'],
        spent: () => this.#known[i]!,
      },
    }));
  }

  leftOf(gateway: number): number {
    const { credit, limit } = this.#gateways[gateway]!;
    return credit.leftOf(limit, at);
  }

  /** Settled as soon as it is asked, if it is not refused. @param delays in steps, until each gateway has it from the log */
  ask(gateway: number, microDollars: number, delays: readonly number[]): boolean {
    const { credit, limit } = this.#gateways[gateway]!;
    const hold = credit.hold([limit], microDollars, at);
    if (hold === null) return false;
    const id = `r${this.#asked++}`;
    credit.settled(settlement(id, { micro_dollars: microDollars, settled_at: at }), 'key_1');
    hold.release();
    this.spent += microDollars;
    for (const i of this.#gateways.keys()) {
      const step = this.#now + delays[i]!;
      this.#told.set(step, [...(this.#told.get(step) ?? []), { id, microDollars, gateway: i }]);
    }
    return true;
  }

  step(): void {
    this.#now += 1;
    for (const { id, microDollars, gateway } of this.#told.get(this.#now) ?? []) {
      this.#known[gateway]! += microDollars;
      this.#gateways[gateway]!.credit.recorded([id]);
    }
    for (const { credit, phase } of this.#gateways) if (this.#now % second === phase) credit.secondOver();
  }
}

const steps = (sharing: Sharing, count: number): void => {
  for (let i = 0; i < count; i++) sharing.step();
};

describe('a spend limit that gateways share', () => {
  test('is not exceeded by charges that wait in the journal of another', () => {
    const sharing = new Sharing(100_000, [0, 0]);
    expect(sharing.ask(1, 49_990, [longest, longest])).toBe(true);
    expect(sharing.ask(0, 49_999, [1, 1])).toBe(true);
    steps(sharing, 1);
    expect(sharing.leftOf(0)).toBe(1);
    expect(sharing.ask(0, 2, [1, 1])).toBe(false);
    steps(sharing, 10 * second);
    expect([sharing.leftOf(0), sharing.leftOf(1)]).toEqual([5, 5]);
    expect([sharing.ask(0, 6, [1, 1]), sharing.ask(0, 5, [1, 1]), sharing.ask(1, 5, [1, 1])]).toEqual([
      false,
      true,
      true,
    ]);
    expect(sharing.spent).toBe(99_999);
  });

  test('is divided again once all have had the time to tell', () => {
    const sharing = new Sharing(100_000, [0, 0]);
    expect(sharing.ask(0, 50_000, [1, 1])).toBe(true);
    steps(sharing, 4 * second);
    expect([sharing.leftOf(0), sharing.leftOf(1)]).toEqual([0, 25_000]);
    steps(sharing, second + 1);
    expect([sharing.leftOf(0), sharing.leftOf(1)]).toEqual([25_000, 25_000]);
  });

  test('is never exceeded where charges come in time', () => {
    const delays = fc.array(fc.integer({ min: 1, max: longest }), { minLength: 4, maxLength: 4 });
    const action = fc.record({
      gateway: fc.nat(3),
      /** Of what is left to it: mostly all. */
      part: fc.constantFrom(1, 1, 1, 0.5, 0.1),
      beyond: fc.boolean(),
      delays,
      wait: fc.constantFrom(0, 0, 1, 2, 3, 5, 8, 16, 20, 21),
    });
    const phases = fc.array(fc.nat(second - 1), { minLength: 2, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        phases,
        fc.array(action, { maxLength: 40 }),
        (amount, of, all) => {
          const sharing = new Sharing(amount, of);
          for (const { gateway: asked, part, beyond, delays: each, wait } of all) {
            const gateway = asked % of.length;
            const left = sharing.leftOf(gateway);
            if (beyond) expect(sharing.ask(gateway, Math.max(0, left) + 1, each)).toBe(false);
            const taken = Math.ceil(left * part);
            if (taken > 0) expect(sharing.ask(gateway, taken, each)).toBe(true);
            expect(sharing.spent).toBeLessThanOrEqual(amount);
            steps(sharing, wait);
          }
          steps(sharing, 8 * second);
          // What is left is divided evenly again.
          for (const i of of.keys()) expect(sharing.leftOf(i)).toBe(Math.floor((amount - sharing.spent) / of.length));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
