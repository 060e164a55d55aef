import type { Account as AskedAccount } from '../../http/route.ts';
import { charge, enlarge, settle } from '../../limits/settle.ts';
import type { Ticket } from '../../limits/window/ticket.ts';
import type { WindowStore } from '../../limits/window/window-store.ts';
import type { Usage } from '../../tokens.ts';
import type { Meter } from './meter.ts';

/**
 * One request's account from its reservation to its settlement. The ticket names the windows that are counted together, the meter
 * the money that is held and the line in the journal.
 */
export class Account implements AskedAccount {
  spent = 0;
  readonly #store: WindowStore;
  readonly #ticket: Ticket;
  readonly #meter: Meter;

  constructor(store: WindowStore, ticket: Ticket, meter: Meter) {
    this.#store = store;
    this.#ticket = ticket;
    this.#meter = meter;
  }

  enlarge(tokens: number): void {
    enlarge(this.#store, this.#ticket, tokens);
    this.#meter.enlarge(tokens);
  }

  settle(): void {
    charge(this.#store, this.#ticket, this.spent);
  }

  get maximum(): number | null {
    return this.#meter.maximum;
  }

  progress(usage: Usage, sentTokens: number): void {
    this.#meter.progress(usage, sentTokens);
  }

  complete(usage: Usage, sentTokens: number, status?: number): void {
    this.#meter.complete(usage, sentTokens, status);
  }

  fail(status: number): void {
    this.#meter.fail(status);
  }

  get written(): Promise<unknown> {
    return this.#meter.written;
  }

  /** Settles what nothing has settled. Called once. */
  end(): void {
    this.#meter.end();
    settle(this.#store, this.#ticket, this.spent);
  }
}
