import type { Millis } from '../../../clock.ts';
import type { Settlement } from '../../../domain/usage/usage-events.ts';
import { serial } from '../../../kernel/mailbox.ts';
import { leastBytes, type Volume, volumeOf } from '../../../kernel/rows/disk-space.ts';
import type { Entry } from './entry.ts';
import type { JournalFiles } from './files.ts';
import { OpenFile } from './open-file.ts';
import { OpenRequests } from './open-requests.ts';
import { Reserve } from './reserve.ts';

/** A file that takes no more entries. */
export interface Closed {
  readonly number: number;
  /** All of them, in order. */
  readonly entries: readonly Entry[];
}

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly first: number;
  /** By unsent file: the number of requests that it settles. */
  readonly unsent?: ReadonlyMap<number, number>;
  /** No request may begin, because the disk fails or is nearly full. Called once, and once when it is over. */
  readonly unwritten: (error: unknown) => void;
  readonly written: () => void;
  /** Between two flushes; default 100 ms. */
  readonly everyMs?: Millis;
  readonly volume?: () => Volume;
}

/** Kept free for requests in flight on file systems where overwriting takes new blocks. */
const spareBytes = 64 * 1024 * 1024;

const isBegunIn = (entries: readonly Entry[], { request_id }: Settlement): boolean =>
  entries.some((entry) => entry.kind === 'begun' && entry.begun.request_id === request_id);

/**
 * Requests and their ends on the local disk. `write` returns when the operating system has the lines, so they survive the
 * process; the disk is flushed ten times a second, without waiting requests. Without room a request does not begin; an end
 * goes to the reserve.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #files: JournalFiles;
  readonly #volume: () => Volume;
  readonly #reserve: Reserve;
  readonly #requests: OpenRequests;
  #last: number;
  #present: OpenFile | null = null;
  #isUnsynced = false;
  /** The file that still has the reserve's name. */
  #unnamed: number | null = null;
  #waiting: Entry[] = [];
  /** The error until writes succeed again. */
  #trouble: unknown = null;
  #hasLittleRoom = false;
  #isShutTold = false;
  #closing: OpenFile[] = [];
  #closed: Closed[] = [];
  /** Abandoned files, kept until another file has all their entries. */
  #givenUp: number[] = [];
  readonly #inTurn = serial();
  readonly #timer: NodeJS.Timeout;

  private constructor(options: JournalOptions) {
    this.#options = options;
    this.#files = options.files;
    this.#volume = options.volume ?? (() => volumeOf(options.files.dir));
    this.#reserve = new Reserve(options.files);
    this.#requests = new OpenRequests(options.files.tally, options.unsent);
    this.#last = options.first - 1;
    this.#timer = setInterval(() => void this.sync(), options.everyMs ?? 100);
    this.#timer.unref();
  }

  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options);
    await journal.#inTurn(() => journal.#start());
    return journal;
  }

  /** No request may be given to an upstream. */
  get isShut(): boolean {
    return this.#trouble !== null || this.#hasLittleRoom || this.#present === null;
  }

  /**
   * Writes lines together, all or none. Where they cannot be written, settlements of requests that began before are kept
   * all the same, and the rest is dropped. Returns whether everything is written.
   */
  write(entries: readonly Entry[]): boolean {
    const begun = entries.filter(({ kind }) => kind === 'begun').length;
    if (this.#isRoomFor(begun) && this.#append(entries)) return true;
    const settled = entries.filter((entry) => entry.kind === 'settled' && !isBegunIn(entries, entry.settlement));
    if (settled.length === 0) return entries.length === 0;
    if (this.#waiting.length > 0 || !this.#put(settled)) this.#waiting.push(...settled);
    return settled.length === entries.length;
  }

  #isRoomFor(begun: number): boolean {
    if (this.isShut) return false;
    if (begun === 0 || this.#reserve.holds(this.#requests.size + begun)) return true;
    this.#failed(new Error('There is no room for the reserve of the requests in flight.'));
    return false;
  }

  isNeeded(number: number): boolean {
    return this.#requests.isNeeded(number);
  }

  /** Copies their requests in flight into the present file; if the disk fails, the files stay needed. */
  carry(upTo: number): Promise<void> {
    return this.#inTurn(async () => {
      // One by one: after a partial write whole lines could remain behind their settlements.
      for (const begun of this.#requests.begunUpTo(upTo)) {
        if (this.isShut || !this.#append([{ kind: 'begun', begun }])) break;
      }
      await this.#syncNow();
    });
  }

  /** Flushes as far as possible. */
  sync(): Promise<void> {
    return this.#inTurn(() => this.#syncNow());
  }

  /** If the file has `atLeast` bytes. Returns the files closed since the last call, oldest first. */
  rotate(atLeast = 1): Promise<readonly Closed[]> {
    return this.#inTurn(async () => {
      await this.#syncNow();
      try {
        if (this.isSound && this.#present!.bytes >= atLeast) await this.#begin();
      } catch (error) {
        this.#failed(error);
      }
      await this.#closeFiles();
      return this.#closed.splice(0);
    });
  }

  /** Call before the file is renamed to `.sent`. */
  shipped(number: number): Promise<void> {
    return this.#requests.shipped(number);
  }

  /** Whether all entries are on the disk, as far as known. */
  get isSound(): boolean {
    return this.#trouble === null;
  }

  async close(): Promise<number> {
    clearInterval(this.#timer);
    await this.sync();
    await this.#present?.letGo();
    this.#present = null;
    await this.#reserve.close();
    this.#requests.close();
    return this.#waiting.filter((entry) => entry.kind === 'settled' && this.#requests.has(entry.settlement)).length;
  }

  async #start(): Promise<void> {
    try {
      await this.#reserve.lay(0);
      await this.#begin();
    } catch (error) {
      this.#failed(error);
    }
    this.#look();
  }

  /** Into the present file, or the reserve if that fails. */
  #put(entries: readonly Entry[]): boolean {
    return (this.#present !== null && this.#append(entries)) || (this.#takeReserve() && this.#append(entries));
  }

  #append(entries: readonly Entry[]): boolean {
    const present = this.#present!;
    try {
      present.append(entries);
    } catch (error) {
      this.#failed(error);
      return false;
    }
    this.#isUnsynced = true;
    for (const entry of entries) this.#requests.note(entry, present.number);
    return true;
  }

  #takeReserve(): boolean {
    const taken = this.#reserve.take();
    if (taken === null) return false;
    this.#unnamed = ++this.#last;
    this.#become(new OpenFile(this.#unnamed, taken.file, taken.size));
    return true;
  }

  #become(next: OpenFile): void {
    if (this.#present !== null) this.#closing.push(this.#present);
    this.#present = next;
  }

  /** It takes entries from the step in which it is ready. */
  async #begin(): Promise<void> {
    const number = ++this.#last;
    const file = await this.#files.begin(number).catch(async (error: unknown) => {
      await this.#files.drop(number, 'open').catch(() => {});
      throw error;
    });
    if (this.#last === number) {
      this.#become(new OpenFile(number, file, null));
      return;
    }
    await file.close();
    await this.#files.drop(number, 'open');
    throw new Error('The reserve was needed before the next file was there.');
  }

  async #syncNow(): Promise<void> {
    if (this.#waiting.length > 0) await this.#writeWaiting();
    await this.#closeFiles();
    const present = this.#present;
    if (this.#isUnsynced && present !== null) {
      this.#isUnsynced = false;
      try {
        await present.sync();
      } catch (error) {
        this.#failed(error);
        if (this.#present === present) return this.#giveUp(present);
      }
    }
    if (this.#trouble !== null) await this.#mend();
    this.#look();
  }

  async #writeWaiting(): Promise<void> {
    // No new file is possible: use the reserve.
    if (this.#present === null) await this.#begin().catch((error: unknown) => this.#failed(error));
    if (!this.#put(this.#waiting)) return;
    this.#waiting = [];
    for (const number of this.#givenUp) this.#requests.forget(number);
  }

  /** Closed files are sent even if the disk fails with them: they were written. */
  async #closeFiles(): Promise<void> {
    for (let [next] = this.#closing; next !== undefined; [next] = this.#closing) {
      this.#closing.shift();
      await next.close((error) => this.#failed(error));
      this.#closed.push({ number: next.number, entries: next.entries });
    }
  }

  /** The flush failed, so the content of the file on the disk is undefined. */
  async #giveUp(present: OpenFile): Promise<void> {
    this.#present = null;
    this.#waiting = [...present.entries, ...this.#waiting];
    this.#givenUp.push(present.number);
    await present.letGo();
  }

  async #mend(): Promise<void> {
    const { freeBytes, isWrittenInPlace } = this.#volume();
    const enough = (isWrittenInPlace ? leastBytes : spareBytes) + this.#reserve.lacks(this.#requests.size);
    if (this.#waiting.length > 0 || freeBytes < enough) return;
    try {
      if (this.#unnamed !== null) await this.#files.adoptReserve(this.#unnamed);
      this.#unnamed = null;
      await this.#reserve.lay(this.#requests.size);
      if (this.#present === null || this.#present.capacity !== null) await this.#begin();
      for (let [number] = this.#givenUp; number !== undefined; [number] = this.#givenUp) {
        await this.#files.drop(number, 'open');
        this.#givenUp.shift();
      }
      // A line may have needed the new reserve meanwhile.
      if (this.#present!.capacity !== null || this.#waiting.length > 0) return;
      this.#present!.probe();
      this.#trouble = null;
    } catch {
      // Retried with the next flush. Nothing is sent before: after a crash it would be sent twice.
    }
  }

  #failed(error: unknown): void {
    this.#trouble ??= error;
    this.#tell();
  }

  #look(): void {
    const { freeBytes, isWrittenInPlace } = this.#volume();
    this.#hasLittleRoom = !isWrittenInPlace && freeBytes < spareBytes;
    this.#tell();
  }

  #tell(): void {
    if (this.isShut === this.#isShutTold) return;
    this.#isShutTold = this.isShut;
    if (!this.isShut) this.#options.written();
    else
      this.#options.unwritten(
        this.#trouble ?? new Error(`The volume of ${this.#files.dir} has less than 64 MiB left.`),
      );
  }
}
