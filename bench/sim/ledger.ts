/** What the simulated model has served: the other end's word on what a gateway says it has forwarded. */
export interface Totals {
  readonly requests: number;
  readonly answered: number;
  readonly errors: number;
  /** Cut by the simulated model itself. */
  readonly aborts: number;
  /** Left by the client before the end. */
  readonly abandoned: number;
  readonly inputTokens: number;
  /** Tokens that were sent, those of answers without an end included. */
  readonly outputTokens: number;
  readonly inFlight: number;
  readonly mostInFlight: number;
}

export type Ending = 'answered' | 'errors' | 'aborts' | 'abandoned';

/** One request, as a line of the ledger's file. Times are Unix milliseconds. */
export interface Entry {
  readonly id: number;
  readonly began: number;
  readonly ended: number;
  readonly ending: Ending;
  readonly stream: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** `x-request-id` as it was sent, so that it can be matched with a gateway's own records. */
  readonly requestId: string;
}

export class Ledger {
  #totals = {
    requests: 0,
    answered: 0,
    errors: 0,
    aborts: 0,
    abandoned: 0,
    inputTokens: 0,
    outputTokens: 0,
    inFlight: 0,
    mostInFlight: 0,
  };
  readonly #write: (entry: Entry) => void;

  constructor(write: (entry: Entry) => void = () => {}) {
    this.#write = write;
  }

  get totals(): Totals {
    return { ...this.#totals };
  }

  /** @returns what is to be called once, when the request has ended */
  begin(stream: boolean, inputTokens: number, requestId: string): (ending: Ending, outputTokens: number) => void {
    const totals = this.#totals;
    const id = ++totals.requests;
    const began = Date.now();
    totals.inputTokens += inputTokens;
    totals.inFlight++;
    totals.mostInFlight = Math.max(totals.mostInFlight, totals.inFlight);
    return (ending, outputTokens) => {
      totals.inFlight--;
      totals[ending]++;
      totals.outputTokens += outputTokens;
      this.#write({ id, began, ended: Date.now(), ending, stream, inputTokens, outputTokens, requestId });
    };
  }
}
