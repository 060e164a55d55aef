import type { Settlement } from '../../../domain/usage/usage-events.ts';
import type { Begun, Entry } from './entry.ts';
import type { Tally } from './tally.ts';

/** One file of the journal. */
interface File {
  readonly number: number;
  /** Requests in flight that began in it. */
  open: number;
  /** Requests that it settles, until it is sent. */
  settled: number;
}

interface Open {
  readonly begun: Begun;
  readonly file: File;
}

export class OpenRequests {
  readonly #tally: Tally;
  readonly #open = new Map<string, Open>();
  /** By number, those that count anything. */
  readonly #files = new Map<number, File>();
  /** Begun, and not in the event store. */
  #unsent: number;
  #isTallying = false;

  constructor(tally: Tally, settledIn: ReadonlyMap<number, number> = new Map()) {
    this.#tally = tally;
    for (const [number, settled] of settledIn) this.#files.set(number, { number, open: 0, settled });
    this.#unsent = [...settledIn.values()].reduce((sum, requests) => sum + requests, 0);
  }

  get size(): number {
    return this.#open.size;
  }

  has({ request_id }: Settlement): boolean {
    return this.#open.has(request_id);
  }

  isNeeded(number: number): boolean {
    return (this.#files.get(number)?.open ?? 0) > 0;
  }

  begunUpTo(number: number): Begun[] {
    return [...this.#open.values()].filter(({ file }) => file.number <= number).map(({ begun }) => begun);
  }

  note(entry: Entry, number: number): void {
    if (entry.kind === 'decided') return;
    const file = this.#file(number);
    // Counted before another one ends, which may drop the file.
    if (entry.kind === 'begun') {
      const { begun } = entry;
      file.open += 1;
      if (!this.#end(begun.request_id)) this.#owe();
      this.#open.set(begun.request_id, { begun, file });
    } else {
      file.settled += 1;
      // A request of the last run began in another file.
      if (!this.#end(entry.settlement.request_id)) this.#owe();
    }
  }

  #file(number: number): File {
    let file = this.#files.get(number);
    if (file === undefined) {
      file = { number, open: 0, settled: 0 };
      this.#files.set(number, file);
    }
    return file;
  }

  /** Another file has all its settlements. */
  forget(number: number): void {
    const file = this.#files.get(number);
    if (file === undefined) return;
    this.#unsent -= file.settled;
    file.settled = 0;
    this.#drop(file);
  }

  #drop(file: File): void {
    if (file.open === 0 && file.settled === 0) this.#files.delete(file.number);
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
    open.file.open -= 1;
    this.#drop(open.file);
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
