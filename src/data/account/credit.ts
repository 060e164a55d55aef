import type { Millis } from '../../clock.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';
import type { Settlement } from '../../domain/usage/usage-events.ts';
import { Pending } from './pending.ts';
import type { Limited } from './spend-limits.ts';

/** In micro-dollars. */
export interface Funds {
  /** Credits less all charges in the event log. */
  balanceOf(organizationId: string): number;
  needsCredit(model: string): boolean;
}

/** What bounds the cost of a request: an organization's balance, by its id, or a spend limit. */
export type Bound = string | Limited;

/**
 * Seconds for which a charge stays in its gateway's part once the log has it. The log brings charges to all gateways within two: after
 * another two, this one has what others charged before they knew of it. The fifth is the one that is not over.
 */
const keptSeconds = 5;

type Sums = Map<string, number>;
type Place = readonly [Sums, string];

const add = (sums: Sums, of: string, amount: number): void => {
  const sum = (sums.get(of) ?? 0) + amount;
  if (sum === 0) sums.delete(of);
  else sums.set(of, sum);
};

/** Reserved for a request in flight, within all its bounds. */
export class CreditHold {
  readonly #places: readonly Place[];
  #microDollars = 0;

  constructor(places: readonly Place[], microDollars: number) {
    this.#places = places;
    this.become(microDollars);
  }

  /** Never less than before. May exceed the bounds: no answer is refused midway (contract F.4). */
  grow(microDollars: number): void {
    if (microDollars > this.#microDollars) this.become(microDollars);
  }

  release(): void {
    this.become(0);
  }

  private become(microDollars: number): void {
    for (const [sums, of] of this.#places) add(sums, of, microDollars - this.#microDollars);
    this.#microDollars = microDollars;
  }
}

/**
 * What may still be spent: balances and spend limits, less what the event log has, what was settled here and the log has not, and
 * the most that requests in flight cost (contract M.1, M.8).
 */
export class Credit {
  readonly #funds: Funds;
  readonly #gateways: number;
  readonly #ofBalances: Sums = new Map();
  readonly #ofLimits: Sums = new Map();
  readonly #pending = new Pending();
  /** Charges of this gateway that the log has lately, and their requests by the second in which they came. */
  readonly #lately = new Pending();
  readonly #seconds: string[][] = Array.from({ length: keptSeconds }, () => []);

  /** @param gateways that share spend limits: this one gives its requests a part of what the log leaves */
  constructor(funds: Funds, gateways = 1) {
    this.#funds = funds;
    this.#gateways = gateways;
  }

  /** Called once a second. */
  secondOver(): void {
    for (const id of this.#seconds.shift()!) this.#lately.drop(id);
    this.#seconds.push([]);
  }

  balanceOf(organizationId: string): number {
    return this.#funds.balanceOf(organizationId) - this.#pending.ofOrganization(organizationId);
  }

  /** Of all bounds or of none: null if one has less left. */
  hold(of: readonly Bound[], microDollars: number, at: Millis): CreditHold | null {
    // Free requests are allowed even with debts.
    if (microDollars > 0 && of.some((each) => this.leftOf(each, at) < microDollars)) return null;
    return new CreditHold(this.#placesOf(of), microDollars);
  }

  #placesOf(of: readonly Bound[]): Place[] {
    const places: Place[] = [];
    let spenders: readonly string[] = [];
    for (const each of of) {
      if (typeof each === 'string') places.push([this.#ofBalances, each]);
      else spenders = each.spenders;
    }
    for (const each of spenders) places.push([this.#ofLimits, each]);
    return places;
  }

  /** Micro-dollars; negative after a charge that was more than its request held, or if a limit was lowered. */
  leftOf(bound: Bound, at: Millis): number {
    if (typeof bound === 'string') return this.balanceOf(bound) - (this.#ofBalances.get(bound) ?? 0);
    const { id, limit } = bound;
    const lately = this.#lately.of(id, limit.interval, at);
    const unspent = Math.floor((limit.amount - bound.spent(at) + lately) / this.#gateways);
    return unspent - lately - this.unrecordedOf(id, limit.interval, at);
  }

  /** Micro-dollars that were settled here and are not in the event log, and what requests in flight hold within a spend limit. */
  unrecordedOf(id: string, interval: SpendLimit['interval'], at: Millis): number {
    return this.#pending.of(id, interval, at) + (this.#ofLimits.get(id) ?? 0);
  }

  /** @param line the first key of its chain of rotations */
  settled(settlement: Settlement, line: string): void {
    const { request_id, organization_id, project_id, micro_dollars, settled_at } = settlement;
    if (micro_dollars > 0)
      this.#pending.add(request_id, [organization_id, project_id, line], micro_dollars, settled_at);
  }

  get pending(): number {
    return this.#pending.size;
  }

  /** The log's sums now have these charges, of any gateway. */
  recorded(requestIds: readonly string[]): void {
    for (const id of requestIds) {
      const charge = this.#pending.drop(id);
      if (charge === undefined || this.#gateways === 1) continue;
      this.#lately.put(id, charge);
      this.#seconds.at(-1)!.push(id);
    }
  }
}
