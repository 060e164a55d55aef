import type { Settlement } from '../../domain/usage/usage-events.ts';
import type { Begun, Entry } from './entry.ts';
import type { Tally } from './tally.ts';

/** A request in flight, and the file that says that it began. */
interface Open {
  readonly begun: Begun;
  readonly number: number;
}

/** Which requests the files of a journal tell of: those in flight, and those whose accounts are not in the event store. */
export class OpenRequests {
  readonly #tally: Tally;
  /** By their ids. */
  readonly #open = new Map<string, Open>();
  /** By file: requests that it saw begin and that are in flight; requests that it settles, as long as it is not sent. */
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

  /** Requests in flight. */
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

  /** It stands in that file. */
  note(entry: Entry, number: number): void {
    if (entry.kind === 'begun') {
      const { begun } = entry;
      if (!this.#end(begun.request_id)) this.#owe();
      this.#open.set(begun.request_id, { begun, number });
      add(this.#openIn, number, 1);
    } else if (entry.kind === 'settled') {
      // One that the last run has left begins in a file that is not among these.
      if (!this.#end(entry.settlement.request_id)) this.#owe();
      add(this.#settledIn, number, 1);
    }
  }

  /** All that it settles stands in another file. */
  forget(number: number): void {
    this.#unsent -= this.#settledIn.get(number) ?? 0;
    this.#settledIn.delete(number);
  }

  /** All that it settles is in the event store; resolves when the tally says so on the disk. */
  async shipped(number: number): Promise<void> {
    this.forget(number);
    this.#tally.write(this.#unsent);
    await this.#tally.sync();
  }

  close(): void {
    this.#tally.write(this.#unsent);
    this.#tally.close();
  }

  /** The file that saw the request begin is not needed for it any more. @returns whether it was in flight */
  #end(requestId: string): boolean {
    const open = this.#open.get(requestId);
    if (open === undefined) return false;
    this.#open.delete(requestId);
    add(this.#openIn, open.number, -1);
    return true;
  }

  /** Once in a turn of the loop: a write for each request would cost a third of its line. */
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
