import type { Settlement } from '../../../domain/usage/usage-events.ts';
import type { Begun, Entry } from './entry.ts';
import type { Tally } from './tally.ts';

interface Open {
  readonly begun: Begun;
  readonly number: number;
}

export class OpenRequests {
  readonly #tally: Tally;
  readonly #open = new Map<string, Open>();
  /** By file: requests in flight that began in it, and requests that it settles until it is sent. */
  readonly #openIn = new Map<number, number>();
  readonly #settledIn: Map<number, number>;
  /** Begun, and not in the event store. */
  #unsent: number;
  #isTallying = false;

  constructor(tally: Tally, settledIn: ReadonlyMap<number, number> = new Map()) {
    this.#tally = tally;
    this.#settledIn = new Map(settledIn);
    this.#unsent = [...settledIn.values()].reduce((sum, requests) => sum + requests, 0);
  }

  get size(): number {
    return this.#open.size;
  }

  has({ request_id }: Settlement): boolean {
    return this.#open.has(request_id);
  }

  isNeeded(number: number): boolean {
    return this.#openIn.has(number);
  }

  begunUpTo(number: number): Begun[] {
    return [...this.#open.values()].filter((open) => open.number <= number).map(({ begun }) => begun);
  }

  note(entry: Entry, number: number): void {
    if (entry.kind === 'begun') {
      const { begun } = entry;
      if (!this.#end(begun.request_id)) this.#owe();
      this.#open.set(begun.request_id, { begun, number });
      add(this.#openIn, number, 1);
    } else if (entry.kind === 'settled') {
      // A request of the last run began in another file.
      if (!this.#end(entry.settlement.request_id)) this.#owe();
      add(this.#settledIn, number, 1);
    }
  }

  /** Another file has all its settlements. */
  forget(number: number): void {
    this.#unsent -= this.#settledIn.get(number) ?? 0;
    this.#settledIn.delete(number);
  }

  /** All its settlements are in the event store; resolves when the tally is durable. */
  async shipped(number: number): Promise<void> {
    this.forget(number);
    this.#tally.write(this.#unsent);
    await this.#tally.sync();
  }

  close(): void {
    this.#tally.write(this.#unsent);
    this.#tally.close();
  }

  /** Releases the file where the request began. Returns whether it was in flight. */
  #end(requestId: string): boolean {
    const open = this.#open.get(requestId);
    if (open === undefined) return false;
    this.#open.delete(requestId);
    add(this.#openIn, open.number, -1);
    return true;
  }

  /** Once in a turn of the loop: a write per request costs a third of its line. */
  #owe(): void {
    this.#unsent += 1;
    if (this.#isTallying) return;
    this.#isTallying = true;
    setImmediate(() => {
      this.#isTallying = false;
      this.#tally.write(this.#unsent);
    });
  }
}

const add = (counts: Map<number, number>, number: number, more: number): void => {
  const count = (counts.get(number) ?? 0) + more;
  if (count === 0) counts.delete(number);
  else counts.set(number, count);
};
