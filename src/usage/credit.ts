import type { Settlement } from '../domain/usage/usage-events.ts';

/** What an organization can spend, in micro-dollars. */
export interface Funds {
  /** Its credits less everything that the event log says was charged. */
  balanceOf(organizationId: string): number;
  /** Whether a model is for those alone who can pay for it. */
  needsCredit(model: string): boolean;
}

/** What is kept back for one request while it is in flight. */
export interface Hold {
  /** Makes it this much, also where the balance does not have it: no answer is refused in the middle (contract F.4). */
  become(microDollars: number): void;
  /** A second call does nothing. */
  release(): void;
}

const add = (sums: Map<string, number>, of: string, amount: number): void => {
  const sum = (sums.get(of) ?? 0) + amount;
  if (sum === 0) sums.delete(of);
  else sums.set(of, sum);
};

/**
 * The credit of organizations as this gateway knows it at the moment: the balance of the log, less what was settled here and
 * is not in it yet, less what requests in flight may still cost (contract M.1).
 */
export class Credit {
  readonly #funds: Funds;
  readonly #held = new Map<string, number>();
  /** Charges that the balance does not have yet: by organization, and by request. */
  readonly #pending = new Map<string, number>();
  readonly #pendingOf = new Map<string, { readonly organizationId: string; readonly microDollars: number }>();

  constructor(funds: Funds) {
    this.#funds = funds;
  }

  /** Without what requests in flight may cost. */
  balanceOf(organizationId: string): number {
    return this.#funds.balanceOf(organizationId) - (this.#pending.get(organizationId) ?? 0);
  }

  /** @returns null where the balance has not so much beside what is held already */
  hold(organizationId: string, microDollars: number): Hold | null {
    const free = this.balanceOf(organizationId) - (this.#held.get(organizationId) ?? 0);
    // What costs nothing needs nothing, also of one who owes.
    if (microDollars > 0 && free < microDollars) return null;
    let held = microDollars;
    add(this.#held, organizationId, held);
    return {
      become: (amount) => {
        add(this.#held, organizationId, amount - held);
        held = amount;
      },
      release: () => {
        add(this.#held, organizationId, -held);
        held = 0;
      },
    };
  }

  /** A request was charged here. */
  settled({ organization_id, request_id, micro_dollars }: Settlement): void {
    if (micro_dollars === 0) return;
    add(this.#pending, organization_id, micro_dollars);
    this.#pendingOf.set(request_id, { organizationId: organization_id, microDollars: micro_dollars });
  }

  /** Charges of this gateway that the balance does not have yet. */
  get pending(): number {
    return this.#pendingOf.size;
  }

  /** The balance has the charges of these requests from now on, whichever gateway's they are. */
  recorded(requestIds: readonly string[]): void {
    for (const id of requestIds) {
      const charge = this.#pendingOf.get(id);
      if (charge === undefined) continue;
      this.#pendingOf.delete(id);
      add(this.#pending, charge.organizationId, -charge.microDollars);
    }
  }
}
