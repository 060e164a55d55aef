import { checkLimits, type FamilyLimits } from '../tiers/window-limits.ts';
import { layoutOf } from './layout.ts';

/** Fields of a kind in `Kinds.words`; a limit of 0 is none. The first four are numbered as the metrics are. */
export const rpmField = 0;
export const rpdField = 1;
export const concurrentField = 2;
export const tpmField = 3;
export const minuteTokensField = 4;
export const dayTokensField = 5;
export const requestsField = 6;
export const requestsWideField = 7;
export const logField = 8;
export const unitsField = 9;

/** A kind's fields begin at its number shifted by this. */
export const kindShift = 4;
/** A plan's kinds are numbered one after another; a kind shifted by this is its plan. */
export const planShift = 2;
/** A kind is a u16 of a record. */
const mostPlans = 0x1_0000 >> planShift;

const same = (a: FamilyLimits, b: FamilyLimits): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * The kinds of records: scope and tier together, with limits and layout as numbers that the hot path reads. Plans are
 * only ever added. One that replaces another becomes its successor, and records follow when they are next used.
 */
export class Kinds {
  words = new Int32Array(0);
  /** Tokens a day by kind: the one limit that no Int32 holds. */
  tpd = new Float64Array(0);
  /** By plan: itself, or the plan that has replaced it. */
  successor = new Int32Array(0);
  /** Plans in force, by tier. */
  #current: number[] = [];
  readonly #plans: FamilyLimits[] = [];

  constructor(plans: readonly FamilyLimits[]) {
    this.replace(plans);
  }

  /** How many plans there are in force. */
  get tiers(): number {
    return this.#current.length;
  }

  /** The plan of a tier. @throws RangeError for a tier that has none */
  planOf(tier: number): number {
    const plan = this.#current[tier];
    if (plan === undefined) throw new RangeError(`There are no limits for tier ${tier}.`);
    return plan;
  }

  /** The tier that a plan, or its successor, is of. */
  tierOf(plan: number): number {
    return this.#current.indexOf(this.successor[plan]!);
  }

  /** Puts other plans into force, as many as before. @throws RangeError where a limit does not fit the layout */
  replace(plans: readonly FamilyLimits[]): void {
    if (this.#current.length > 0 && plans.length !== this.#current.length) {
      throw new RangeError(`There are ${this.#current.length} tiers, not ${plans.length}.`);
    }
    for (const limits of plans.flat()) checkLimits(limits);
    if (this.#plans.length + plans.length > mostPlans) throw new RangeError('The limits were replaced too often.');
    const before = this.#current;
    this.#current = plans.map((plan, tier) => {
      const old = before[tier];
      return old !== undefined && same(this.#plans[old]!, plan) ? old : this.#add(plan);
    });
    for (const [tier, old] of before.entries()) {
      for (let plan = 0; plan < this.#plans.length; plan++) {
        if (this.successor[plan] === old) this.successor[plan] = this.#current[tier]!;
      }
    }
  }

  #add(plan: FamilyLimits): number {
    const number = this.#plans.push(plan) - 1;
    const kinds = this.#plans.length << planShift;
    const [words, tpd, successor] = [this.words, this.tpd, this.successor];
    this.words = new Int32Array(kinds << kindShift);
    this.words.set(words);
    this.tpd = new Float64Array(kinds);
    this.tpd.set(tpd);
    this.successor = new Int32Array(this.#plans.length);
    this.successor.set(successor);
    this.successor[number] = number;
    for (const [scope, limits] of plan.entries()) {
      const kind = (number << planShift) + scope;
      const layout = layoutOf(limits);
      this.tpd[kind] = limits.tpd ?? 0;
      this.words.set(
        [
          limits.rpm,
          limits.rpd ?? 0,
          limits.concurrent ?? 0,
          limits.tpm ?? 0,
          layout.minuteTokensAt,
          layout.dayTokensAt,
          layout.requestsAt,
          layout.requestsWide,
          layout.logAt,
          layout.units,
        ],
        kind << kindShift,
      );
    }
    return number;
  }
}
