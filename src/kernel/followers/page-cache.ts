import { type LogPage, readPage } from '../store/log-page.ts';
import type { EventStore } from '../store/store.ts';

/** How far the followers that the subscription feeds had come when a page was asked for. */
interface Reached {
  /** Everything up to here has been handed on. */
  readonly before: bigint | null;
  /** Position of the newest event up to there that is not the store's own: a read finds it. */
  readonly readable: bigint | null;
}

export interface Reading extends Reached {
  readonly page: Promise<LogPage>;
}

const maxPages = 8;

/** Pages of the log that were full, which never change: several followers that begin again want the same. */
export class PageCache {
  readonly #store: Pick<EventStore, 'readAll'>;
  readonly #pages = new Map<bigint | null, Reading>();

  constructor(store: Pick<EventStore, 'readAll'>) {
    this.#store = store;
  }

  read(after: bigint | null, { before, readable }: Reached): Reading {
    const known = this.#pages.get(after);
    if (known) return known;
    const reading = { before, readable, page: readPage(this.#store, after) };
    this.#pages.set(after, reading);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= maxPages) break;
      this.#pages.delete(oldest);
    }
    const forget = (): void => {
      if (this.#pages.get(after) === reading) this.#pages.delete(after);
    };
    reading.page.then(({ isLast }) => isLast && forget(), forget);
    return reading;
  }

  clear(): void {
    this.#pages.clear();
  }
}
