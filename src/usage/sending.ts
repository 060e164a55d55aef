import type { Clock, Millis } from '../clock.ts';
import type { JournalFiles } from '../data/account/journal/files.ts';
import type { Journal } from '../data/account/journal/journal.ts';
import { serial } from '../kernel/mailbox.ts';
import type { EventStore } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';
import { shipment } from './shipment.ts';

/** Bytes at which a file is closed while the store is unavailable. */
const longest = 512 * 1024;
/** Then 1 GiB, or two million requests, are waiting. */
const mostUnsent = 2_048;
/** Beyond it requests in flight are copied into the present file. */
const mostKept = 10;

export interface SendingOptions {
  readonly journal: Journal;
  readonly files: JournalFiles;
  readonly store: Pick<EventStore, 'append' | 'limitAge'>;
  readonly clock: Clock;
  /** Files of earlier runs, by their numbers. */
  readonly unsent: readonly number[];
  readonly sent: readonly number[];
}

/** Sends the files of the journal to the event store, one after another. */
export class Sending {
  readonly #journal: Journal;
  readonly #files: JournalFiles;
  readonly #clock: Clock;
  readonly #ship: ReturnType<typeof shipment>['ship'];
  readonly #unsent: number[];
  /** Sent, and not yet deleted. */
  readonly #kept: number[];
  readonly #inTurn = serial();
  /** Null while the store is available. */
  #away: string | null = null;
  #sentUpTo: Millis;

  constructor({ journal, files, store, clock, unsent, sent }: SendingOptions) {
    this.#journal = journal;
    this.#files = files;
    this.#clock = clock;
    this.#ship = shipment(files, store, clock).ship;
    this.#unsent = [...unsent];
    this.#kept = [...sent];
    this.#sentUpTo = clock.monotonic();
  }

  /** Older settlements are in the event store. */
  get ageMs(): Millis {
    return this.#clock.monotonic() - this.#sentUpTo;
  }

  get isFull(): boolean {
    return this.#unsent.length >= mostUnsent;
  }

  /** Says once that the store is away, and once that it is back. */
  send(): Promise<void> {
    return this.sendAll().then(
      () => {
        if (this.#away !== null) publish('usage.sent', {});
        this.#away = null;
      },
      (error: unknown) => {
        // A different error is logged too.
        const reason = String(error).replace(/\d+/g, '');
        if (this.#away !== reason) publish('usage.unsent', { error });
        this.#away = reason;
      },
    );
  }

  /** Rejects if the store is unavailable. */
  sendAll(): Promise<void> {
    return this.#inTurn(() => this.#sendAll());
  }

  async #sendAll(): Promise<void> {
    const began = this.#clock.monotonic();
    const closed = await this.#journal.rotate(this.#unsent.length === 0 ? 1 : longest);
    this.#unsent.push(...closed.map(({ number }) => number));
    const atHand = new Map(closed.map(({ number, entries }) => [number, entries]));
    for (let next = this.#unsent[0]; next !== undefined; next = this.#unsent[0]) {
      const number = next;
      await this.#ship(number, atHand.get(number), () => this.#journal.shipped(number));
      this.#kept.push(number);
      this.#unsent.shift();
    }
    if (this.#journal.isSound) this.#sentUpTo = began;
    await this.#dropSent();
  }

  /** Deleted in order: later files may settle its requests, which would be settled again without it. */
  async #dropSent(): Promise<void> {
    const journal = this.#journal;
    if (this.#kept.length > mostKept) await journal.carry(this.#kept.at(-1)!);
    // The settlements must be durable before the files are deleted.
    if (this.#kept.length > 0) await journal.sync();
    for (let [oldest] = this.#kept; oldest !== undefined; [oldest] = this.#kept) {
      if (!journal.isSound || journal.isNeeded(oldest)) return;
      await this.#files.drop(oldest, 'sent');
      this.#kept.shift();
    }
  }
}
