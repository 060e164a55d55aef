import type { Millis } from '../../clock.ts';
import type { Decision } from '../../domain/policy/decision-events.ts';
import type { Settlement } from '../../domain/usage/usage-events.ts';
import { serial } from '../../kernel/mailbox.ts';
import { leastBytes, type Volume, volumeOf } from '../../kernel/rows/disk-space.ts';
import type { Begun, Entry } from './entry.ts';
import type { JournalFiles } from './files.ts';
import { OpenFile } from './open-file.ts';
import { OpenRequests } from './open-requests.ts';
import { Reserve } from './reserve.ts';

/** A file that takes no more. */
export interface Closed {
  readonly number: number;
  /** All that it says, in order. */
  readonly entries: readonly Entry[];
}

export interface JournalOptions {
  readonly files: JournalFiles;
  /** The number of the first file. */
  readonly first: number;
  /** Of files that are there and are not sent: how many requests each settles. */
  readonly unsent?: ReadonlyMap<number, number>;
  /** No request may begin: the disk takes nothing, or has little room. Told once, and once when it is over. */
  readonly unwritten: (error: unknown) => void;
  readonly written: () => void;
  /** Between two waits for the disk; default 100 ms. */
  readonly everyMs?: Millis;
  readonly volume?: () => Volume;
}

/** Where writing over a file takes new blocks, requests in flight are left so much. */
const spareBytes = 64 * 1024 * 1024;

/**
 * The requests that are asked of upstreams and what becomes of them, on this machine's disk. A line is handed to the
 * operating system before `begin` and `settle` return, in about two microseconds, so that it survives the end of the
 * process; ten times a second the disk is waited for, by nobody who answers requests. A request whose beginning finds no room
 * does not begin, and the end of one that has begun finds it in the reserve.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #files: JournalFiles;
  readonly #volume: () => Volume;
  readonly #reserve: Reserve;
  readonly #requests: OpenRequests;
  /** The last number that a file was given. */
  #last: number;
  /** The file that takes what comes. */
  #present: OpenFile | null = null;
  #isUnsynced = false;
  /** The number of the file that still has the reserve's name. */
  #unnamed: number | null = null;
  #waiting: Entry[] = [];
  /** What a write has failed with, until writes succeed again. */
  #trouble: unknown = null;
  #hasLittleRoom = false;
  #isShutTold = false;
  #closing: OpenFile[] = [];
  #closed: Closed[] = [];
  /** Files that were given up, and are there until all that they said stands in another. */
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

  /** No request may begin, and so none may be asked of an upstream. */
  get isShut(): boolean {
    return this.#trouble !== null || this.#hasLittleRoom || this.#present === null;
  }

  /** @returns whether it is written down: else the request may not be asked of its upstream */
  begin(begun: Begun): boolean {
    if (this.isShut) return false;
    if (this.#reserve.holds(this.#requests.size + 1)) return this.#append([{ kind: 'begun', begun }]);
    this.#failed(new Error('There is no room for the reserve of the requests in flight.'));
    return false;
  }

  settle(settlement: Settlement): void {
    const entry: Entry = { kind: 'settled', settlement };
    if (this.#waiting.length > 0 || !this.#put([entry])) this.#waiting.push(entry);
  }

  /** What a policy has decided. @returns whether it is kept */
  decide(decision: Decision): boolean {
    return !this.isShut && this.#append([{ kind: 'decided', decision }]);
  }

  /** Whether the file saw a request begin that is still in flight. */
  isNeeded(number: number): boolean {
    return this.#requests.isNeeded(number);
  }

  /**
   * Writes into the present file too that the requests in flight began which files up to this one saw begin: those files are then
   * needed no more. Where the disk does not take it they stay needed.
   */
  carry(upTo: number): Promise<void> {
    return this.#inTurn(async () => {
      // One by one: of several that were written in part whole ones could stay, and be read behind the settlements of their requests.
      for (const begun of this.#requests.begunUpTo(upTo)) {
        if (this.isShut || !this.#append([{ kind: 'begun', begun }])) break;
      }
      await this.#syncNow();
    });
  }

  /** Has everything reach the disk, as far as it can be written. */
  sync(): Promise<void> {
    return this.#inTurn(() => this.#syncNow());
  }

  /**
   * Closes the present file, where it holds anything, and begins another.
   * @param atLeast only where it has so many bytes
   * @returns the files that were closed since the last time, the oldest first
   */
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

  /** All that the file settles is in the event store: to be called before its name says so. */
  shipped(number: number): Promise<void> {
    return this.#requests.shipped(number);
  }

  /** Whether all that has been told to it is on the disk, as far as anybody knows. */
  get isSound(): boolean {
    return this.#trouble === null;
  }

  /** @returns how many requests it could not write the end of: they are settled at the next start, by their beginnings */
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

  /** Into the present file, or, where that takes no more, into the reserve. */
  #put(entries: readonly Entry[]): boolean {
    return (this.#present !== null && this.#append(entries)) || (this.#takeReserve() && this.#append(entries));
  }

  /** Into the present file. */
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

  /** The next file; from then on, in the same step, it takes what comes. */
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
        // Where the reserve has come in its place, it is closed as it is.
        if (this.#present === present) return this.#giveUp(present);
      }
    }
    if (this.#trouble !== null) await this.#mend();
    this.#look();
  }

  async #writeWaiting(): Promise<void> {
    // Where there can be no new file, there is the reserve.
    if (this.#present === null) await this.#begin().catch((error: unknown) => this.#failed(error));
    if (!this.#put(this.#waiting)) return;
    this.#waiting = [];
    for (const number of this.#givenUp) this.#requests.forget(number);
  }

  /** What was closed is sent all the same where the disk fails with it, now or after a restart: nothing is sure but that it was written. */
  async #closeFiles(): Promise<void> {
    for (let [next] = this.#closing; next !== undefined; [next] = this.#closing) {
      this.#closing.shift();
      await next.close((error) => this.#failed(error));
      this.#closed.push({ number: next.number, entries: next.entries });
    }
  }

  /** The disk has failed: what it holds of the present file is anybody's guess. */
  async #giveUp(present: OpenFile): Promise<void> {
    this.#present = null;
    this.#waiting = [...present.entries, ...this.#waiting];
    this.#givenUp.push(present.number);
    await present.letGo();
  }

  /** Where there is room, and a write succeeds, requests may begin again, with a reserve as before. */
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
      // Meanwhile a line may have needed the new reserve too.
      if (this.#present!.capacity !== null || this.#waiting.length > 0) return;
      this.#present!.probe();
      this.#trouble = null;
    } catch {
      // It is tried again with the next wait. Nothing is sent before that: after a crash it would be sent a second time.
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
