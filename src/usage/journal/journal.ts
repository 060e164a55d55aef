import { ftruncateSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Millis } from '../../clock.ts';
import type { Decision } from '../../domain/decision-facts.ts';
import type { Settlement } from '../../domain/usage-facts.ts';
import { serial } from '../../kernel/mailbox.ts';
import { type Begun, type Entry, lineOf } from './entry.ts';
import type { JournalFiles } from './files.ts';

/** A file that takes no more. */
export interface Closed {
  readonly number: number;
  /** All that it says, in order. */
  readonly entries: readonly Entry[];
}

/** A request in flight, and the file that says that it began. */
interface Open {
  readonly begun: Begun;
  readonly number: number;
}

export interface JournalOptions {
  readonly files: JournalFiles;
  /** The number of the first file. */
  readonly first: number;
  /** Nothing can be written; what comes is kept in memory meanwhile. Told once, and once when it works again. */
  readonly unwritten: (error: unknown) => void;
  readonly written: () => void;
  /** Between two waits for the disk; default 100 ms. */
  readonly everyMs?: Millis;
  /** Lines kept in memory while nothing can be written; default 100,000. */
  readonly mostWaiting?: number;
}

/**
 * The requests that are asked of upstreams and what becomes of them, on this machine's disk. A line is handed to the
 * operating system before `begin` and `settle` return, in about two microseconds, so that it survives the end of the
 * process; ten times a second the disk is waited for, by nobody who answers requests.
 */
export class Journal {
  readonly #options: JournalOptions;
  #number: number;
  #file: FileHandle | null = null;
  #bytes = 0;
  #isUnsynced = false;
  /** What the present file holds: should the disk fail, the file is given up and all of it is written anew. */
  #entries: Entry[] = [];
  #waiting: Entry[] = [];
  #isFailing = false;
  /** Files that were given up, and are there until all that they said stands in another. */
  #givenUp: number[] = [];
  /** By their ids. */
  readonly #open = new Map<string, Open>();
  readonly #openIn = new Map<number, number>();
  readonly #inTurn = serial();
  readonly #timer: NodeJS.Timeout;

  private constructor(options: JournalOptions) {
    this.#options = options;
    this.#number = options.first - 1;
    this.#timer = setInterval(() => void this.sync(), options.everyMs ?? 100);
    this.#timer.unref();
  }

  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options);
    await journal.sync();
    return journal;
  }

  /** There is no room for more in memory, and none on the disk: nothing may be asked of upstreams. */
  get isFull(): boolean {
    return this.#waiting.length >= (this.#options.mostWaiting ?? 100_000);
  }

  begin(begun: Begun): void {
    this.#write({ kind: 'begun', begun });
  }

  settle(settlement: Settlement): void {
    this.#write({ kind: 'settled', settlement });
  }

  /** What a policy has decided. */
  decide(decision: Decision): void {
    this.#write({ kind: 'decided', decision });
  }

  /** Whether the file saw a request begin that is still in flight. */
  isNeeded(number: number): boolean {
    return (this.#openIn.get(number) ?? 0) > 0;
  }

  /**
   * Writes into the present file too that the requests in flight began which files up to this one saw begin: those files are then
   * needed no more. Where the disk does not take it they stay needed.
   */
  carry(upTo: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#file === null || this.#waiting.length > 0) return;
      const old = [...this.#open.values()].filter(({ number }) => number <= upTo);
      // One by one: of several that were written in part whole ones could stay, and be read behind the settlements of their requests.
      for (const { begun } of old) if (!this.#append([{ kind: 'begun', begun }])) break;
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
   * @returns the closed one; null where there is none
   */
  rotate(atLeast = 1): Promise<Closed | null> {
    return this.#inTurn(() => this.#rotateNow(atLeast));
  }

  /** Whether all that has been told to it is on the disk, as far as anybody knows. */
  get isSound(): boolean {
    return !this.#isFailing && this.#waiting.length === 0;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.sync();
    await this.#file?.close().catch(() => {});
    this.#file = null;
  }

  #write(entry: Entry): void {
    if (this.#file === null || this.#waiting.length > 0) this.#waiting.push(entry);
    else if (!this.#append([entry])) this.#waiting.push(entry);
  }

  /** Into the present file, all or nothing. */
  #append(entries: readonly Entry[]): boolean {
    const file = this.#file!;
    // Ids, names of models and numbers: a byte each character.
    const text = entries.length === 1 ? lineOf(entries[0]!) : entries.map(lineOf).join('');
    try {
      let done = 0;
      while (done < text.length) done += writeSync(file.fd, text.slice(done), this.#bytes + done, 'latin1');
    } catch (error) {
      this.#failed(error);
      try {
        ftruncateSync(file.fd, this.#bytes);
      } catch {
        // A line that was written in part is overwritten by the next, which begins where it does.
      }
      return false;
    }
    this.#bytes += text.length;
    this.#isUnsynced = true;
    for (const entry of entries) this.#note(entry);
    return true;
  }

  #note(entry: Entry): void {
    this.#entries.push(entry);
    if (entry.kind === 'begun') {
      const { begun } = entry;
      this.#close(begun.request_id);
      this.#open.set(begun.request_id, { begun, number: this.#number });
      this.#openIn.set(this.#number, (this.#openIn.get(this.#number) ?? 0) + 1);
    } else if (entry.kind === 'settled') this.#close(entry.settlement.request_id);
  }

  /** The file that saw the request begin is not needed for it any more. */
  #close(requestId: string): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    this.#open.delete(requestId);
    const left = this.#openIn.get(open.number)! - 1;
    if (left === 0) this.#openIn.delete(open.number);
    else this.#openIn.set(open.number, left);
  }

  async #syncNow(): Promise<void> {
    try {
      if (this.#file === null) await this.#begin();
      if (this.#waiting.length > 0 && this.#append(this.#waiting)) this.#waiting = [];
      if (this.#isUnsynced) {
        this.#isUnsynced = false;
        await this.#file!.datasync();
      }
    } catch (error) {
      this.#failed(error);
      return this.#giveUp();
    }
    if (!this.#isFailing || this.#waiting.length > 0) return;
    try {
      for (let [number] = this.#givenUp; number !== undefined; [number] = this.#givenUp) {
        await this.#options.files.drop(number, 'open');
        this.#givenUp.shift();
      }
    } catch {
      // It is tried again with the next wait. Nothing is sent before that: after a crash it would be sent a second time.
      return;
    }
    this.#isFailing = false;
    this.#options.written();
  }

  async #rotateNow(atLeast: number): Promise<Closed | null> {
    if (this.#file === null || this.#bytes < atLeast) return null;
    await this.#syncNow();
    if (this.#file === null || this.#waiting.length > 0 || this.#givenUp.length > 0) return null;
    const [file, number, entries] = [this.#file, this.#number, this.#entries];
    try {
      await this.#begin();
    } catch (error) {
      this.#failed(error);
      return null;
    }
    // What came while the next was made.
    try {
      await file.datasync();
    } catch (error) {
      // Of what it says nothing is sure but that it was written: it is sent all the same, now or after a restart.
      this.#failed(error);
    }
    await file.close().catch((error: unknown) => this.#failed(error));
    return { number, entries };
  }

  /** The next file; from then on, in the same step, it takes what comes. */
  async #begin(): Promise<void> {
    const number = this.#number + 1;
    const file = await this.#options.files.begin(number).catch(async (error: unknown) => {
      await this.#options.files.drop(number, 'open').catch(() => {});
      throw error;
    });
    this.#number = number;
    this.#file = file;
    this.#bytes = 0;
    this.#entries = [];
  }

  /** The disk has failed: what it holds of the present file is anybody's guess. */
  async #giveUp(): Promise<void> {
    const [file, number] = [this.#file, this.#number];
    if (file === null) return;
    this.#file = null;
    this.#waiting = [...this.#entries, ...this.#waiting];
    this.#entries = [];
    this.#givenUp.push(number);
    await file.close().catch(() => {});
  }

  #failed(error: unknown): void {
    if (!this.#isFailing) this.#options.unwritten(error);
    this.#isFailing = true;
  }
}
