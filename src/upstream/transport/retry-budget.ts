/** Retries that one upstream may get: a tenth of its requests, so that its bad moments are not made worse. */
const share = 0.1;
/** Saved up at most, for a burst of broken connections after a quiet hour. */
const most = 10;

export class RetryBudget {
  #balance: number;

  /** @param saved the retries that it begins with, at most ten */
  constructor(saved = 1) {
    this.#balance = Math.min(most, saved);
  }

  /** To be called once per request. */
  earn(): void {
    this.#balance = Math.min(most, this.#balance + share);
  }

  /** Takes one retry, if there is one. */
  take(): boolean {
    // A tenth is no binary fraction: ten of them may be a hair less than one.
    if (this.#balance < 1 - 1e-9) return false;
    this.#balance -= 1;
    return true;
  }
}
