import type { Settlement } from '../../domain/usage/usage-events.ts';

/** In micro-dollars. */
export interface Funds {
  /** Credits less all charges in the event log. */
  balanceOf(organizationId: string): number;
  needsCredit(model: string): boolean;
}

const add = (sums: Map<string, number>, of: string, amount: number): void => {
  const sum = (sums.get(of) ?? 0) + amount;
  if (sum === 0) sums.delete(of);
  else sums.set(of, sum);
};

/** Reserved for a request in flight, of everybody in a list. */
export class CreditHold {
  readonly #held: Map<string, number>;
  readonly #of: readonly string[];
  #microDollars: number;

  constructor(held: Map<string, number>, of: readonly string[], microDollars: number) {
    this.#held = held;
    this.#of = of;
    this.#microDollars = microDollars;
    for (const each of of) add(held, each, microDollars);
  }

  /** May exceed the balance: no answer is refused midway (contract F.4). */
  become(microDollars: number): void {
    for (const each of this.#of) add(this.#held, each, microDollars - this.#microDollars);
    this.#microDollars = microDollars;
  }

  release(): void {
    this.become(0);
  }
}

/** The log's balance, less unrecorded settlements and the most that requests in flight cost (contract M.1). */
export class Credit {
  readonly #funds: Funds;
  readonly #held = new Map<string, number>();
  readonly #pending = new Map<string, number>();
  readonly #pendingOf = new Map<string, { readonly organizationId: string; readonly microDollars: number }>();

  constructor(funds: Funds) {
    this.#funds = funds;
  }

  balanceOf(organizationId: string): number {
    return this.#funds.balanceOf(organizationId) - (this.#pending.get(organizationId) ?? 0);
  }

  /** Of all in the list or of none: null if a balance does not cover it beside other holds. */
  hold(of: readonly string[], microDollars: number): CreditHold | null {
    // Free requests are allowed even with debts.
    if (microDollars > 0 && of.some((each) => this.#freeOf(each) < microDollars)) return null;
    return new CreditHold(this.#held, of, microDollars);
  }

  #freeOf(organizationId: string): number {
    return this.balanceOf(organizationId) - (this.#held.get(organizationId) ?? 0);
  }

  settled({ organization_id, request_id, micro_dollars }: Settlement): void {
    if (micro_dollars === 0) return;
    add(this.#pending, organization_id, micro_dollars);
    this.#pendingOf.set(request_id, { organizationId: organization_id, microDollars: micro_dollars });
  }

  get pending(): number {
    return this.#pendingOf.size;
  }

  /** The balance now has these charges, of any gateway. */
  recorded(requestIds: readonly string[]): void {
    for (const id of requestIds) {
      const charge = this.#pendingOf.get(id);
      if (charge === undefined) continue;
      this.#pendingOf.delete(id);
      add(this.#pending, charge.organizationId, -charge.microDollars);
    }
  }
}
