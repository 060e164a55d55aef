import type { Millis } from '../clock.ts';
import { addressRange } from './address-range.ts';
import { newestWord, spanHalf } from './window/layout.ts';
import { expireLog, logAttempt, oldestLeavesIn } from './window/request-log.ts';

export interface FailedAttemptsOptions {
  /** Failures a minute and address that are answered with 401; contract F.3. */
  readonly perMinute?: number;
  /** Addresses that are told apart at once. 65,536 take 9 MiB of records and some 9 MiB of names. */
  readonly addresses?: number;
}

/** Words before an address's log: those that the log keeps, and the hour of the last failure in the first. */
const headWords = 4;
const hourMs = 3_600_000;
/** Entries looked at to find one that has expired. */
const lookedAt = 8;

/**
 * Failed authentication by client address, in an exact trailing minute and bounded memory (contract F.3, reliability.md
 * K7). Only unknown credentials are counted and refused here; valid ones behind the same address never come by.
 *
 * Unspecified: more addresses than there is room for, all with a failure in the last minute. Those that find no room share
 * one counter, so a flood from everywhere is refused and nobody's count is thrown away for it.
 */
export class FailedAttempts {
  readonly #perMinute: number;
  readonly #capacity: number;
  readonly #recordWords: number;
  readonly #i32: Int32Array;
  readonly #u16: Uint16Array;
  readonly #entries = new Map<string, number>();
  readonly #ranges: (string | undefined)[] = [];
  #hand = 0;
  #now = 0;

  constructor(options: FailedAttemptsOptions = {}) {
    this.#perMinute = options.perMinute ?? 60;
    this.#capacity = options.addresses ?? 65_536;
    this.#recordWords = headWords + Math.ceil(this.#perMinute / 2);
    // The last entry is the one that is shared. Pages that nobody uses are not resident.
    const memory = new ArrayBuffer((this.#capacity + 1) * this.#recordWords * 4);
    this.#i32 = new Int32Array(memory);
    this.#u16 = new Uint16Array(memory);
  }

  /** Addresses that are held at present. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Records one failure. 0: answer 401. Else the whole seconds of `Retry-After` for a 429; refused failures count too.
   * @param nowMs the monotonic clock
   */
  count(address: string, nowMs: Millis): number {
    if (nowMs > this.#now) this.#now = Math.floor(nowMs);
    const range = addressRange(address);
    const entry = this.#entries.get(range) ?? this.#add(range);
    const word = entry * this.#recordWords;
    const log = (word + headWords) << 1;
    this.#emptyOld(word);
    const count = logAttempt(this.#i32, this.#u16, word, log, this.#perMinute, this.#now | 0);
    this.#i32[word] = this.#hour;
    if (count < this.#perMinute) return 0;
    return Math.max(1, Math.ceil(oldestLeavesIn(this.#i32, this.#u16, word, this.#now | 0) / 1000));
  }

  get #hour(): number {
    return Math.floor(this.#now / hourMs);
  }

  /** Failures of the last minute. */
  #expire(word: number): number {
    this.#emptyOld(word);
    return expireLog(this.#i32, this.#u16, word, (word + headWords) << 1, this.#perMinute, this.#now | 0);
  }

  /** The log's times are modulo 2^32, so an entry from hours ago is emptied before it is read. */
  #emptyOld(word: number): void {
    if (this.#hour - this.#i32[word]! > 1) this.#empty(word);
  }

  #empty(word: number): void {
    this.#i32.fill(0, word, word + newestWord);
    this.#u16[(word << 1) + spanHalf] = 0;
  }

  /** An entry for a new address: an unused one, one that has expired, or the shared one. */
  #add(range: string): number {
    let entry = this.#ranges.length;
    if (entry >= this.#capacity) {
      entry = this.#expired();
      if (entry < 0) return this.#capacity;
      this.#entries.delete(this.#ranges[entry]!);
    }
    this.#empty(entry * this.#recordWords);
    this.#ranges[entry] = range;
    this.#entries.set(range, entry);
    return entry;
  }

  /** Walks on a few entries from where the last walk stopped: every entry is met before the table is turned over once. */
  #expired(): number {
    for (let step = 0; step < lookedAt; step++) {
      const entry = this.#hand;
      this.#hand = (this.#hand + 1) % this.#capacity;
      if (this.#expire(entry * this.#recordWords) === 0) return entry;
    }
    return -1;
  }
}
