import { dayMs, type Millis } from '../../clock.ts';
import { periodAt } from '../../domain/usage/period.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';

type Span = SpendLimit['interval'];

/** An organization, a project, and the first key of a chain of rotations. */
export type Owners = readonly [organization: string, project: string, line: string];

export interface Charge {
  readonly owners: Owners;
  readonly microDollars: number;
  readonly day: number;
}

/** Charges by owner and day, in micro-dollars: those that the event log does not have yet, or has only lately. */
export class Pending {
  readonly #charges = new Map<string, Charge>();
  /** By owner and day, in UTC. */
  readonly #sums = new Map<string, Map<number, number>>();
  /** Of projects and keys from the first question on, so that they cost nothing where nobody has a spend limit. */
  #isOfAll = false;

  get size(): number {
    return this.#charges.size;
  }

  add(requestId: string, owners: Owners, microDollars: number, settledAt: Millis): void {
    this.put(requestId, { owners, microDollars, day: periodAt('day', settledAt) });
  }

  put(requestId: string, charge: Charge): void {
    this.#charges.set(requestId, charge);
    this.#count(charge.owners[0], charge, 1);
    if (this.#isOfAll) this.#countOthers(charge, 1);
  }

  drop(requestId: string): Charge | undefined {
    const charge = this.#charges.get(requestId);
    if (charge === undefined) return undefined;
    this.#charges.delete(requestId);
    this.#count(charge.owners[0], charge, -1);
    if (this.#isOfAll) this.#countOthers(charge, -1);
    return charge;
  }

  ofOrganization(id: string): number {
    return this.#sumOf(id, 'total', 0);
  }

  /** Settled in the period that is running then. */
  of(id: string, span: Span, at: Millis): number {
    if (!this.#isOfAll) {
      this.#isOfAll = true;
      for (const charge of this.#charges.values()) this.#countOthers(charge, 1);
    }
    return this.#sumOf(id, span, at);
  }

  #sumOf(id: string, span: Span, at: Millis): number {
    const days = this.#sums.get(id);
    if (days === undefined) return 0;
    let sum = 0;
    for (const [day, microDollars] of days) {
      if (span === 'total' || periodAt(span, day * dayMs) === periodAt(span, at)) sum += microDollars;
    }
    return sum;
  }

  #countOthers(charge: Charge, sign: 1 | -1): void {
    this.#count(charge.owners[1], charge, sign);
    this.#count(charge.owners[2], charge, sign);
  }

  #count(id: string, { day, microDollars }: Charge, sign: 1 | -1): void {
    const days = this.#sums.get(id) ?? new Map<number, number>();
    const sum = (days.get(day) ?? 0) + sign * microDollars;
    if (sum !== 0) days.set(day, sum);
    else days.delete(day);
    if (days.size === 0) this.#sums.delete(id);
    else this.#sums.set(id, days);
  }
}
