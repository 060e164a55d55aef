/** The share of requests that may be retried, so that an overloaded upstream is not made worse. */
const share = 0.1;
/** Saved up at most, for a burst of broken connections after a quiet hour. */
const most = 10;

export class RetryBudget {
  #balance: number;

  /** @param saved the initial retries, at most ten */
  constructor(saved = 1) {
    this.#balance = Math.min(most, saved);
  }

  earn(): void {
    this.#balance = Math.min(most, this.#balance + share);
  }

  take(): boolean {
    // Ten tenths in floating point may be less than one.
    if (this.#balance < 1 - 1e-9) return false;
    this.#balance -= 1;
    return true;
  }
}
