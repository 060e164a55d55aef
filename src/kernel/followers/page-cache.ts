import { type LogPage, readPage } from '../store/log-page.ts';
import type { EventStore } from '../store/store.ts';

/** As in `Source`. */
interface Reached {
  readonly before: bigint | null;
  readonly readable: bigint | null;
}

export interface Reading extends Reached {
  readonly page: Promise<LogPage>;
}

const maxPages = 8;

/** Full pages of the log, which never change and which several followers read. */
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
