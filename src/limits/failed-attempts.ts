import { hourMs, type Millis } from '../clock.ts';
import { addressRange } from './address-range.ts';
import { RequestLog } from './record/request-log.ts';
import { Slab } from './record/slab.ts';

export interface FailedAttemptsOptions {
  /** Failures per minute and address that are answered with 401 (contract F.3). */
  readonly perMinute?: number;
  /** Addresses with counters of their own. 65,536 take 9 MiB of records and some 9 MiB of names. */
  readonly addresses?: number;
}

interface Entry {
  range: string;
  /** Address of its log. */
  readonly at: number;
  /** Hour of its last failure. */
  hour: number;
}

const lookedAt = 8;

/**
 * Counts failed authentication by client address, in an exact trailing minute and bounded memory (contract F.3).
 * Unspecified: more addresses with recent failures than there is room for. The rest share one counter, so a flood is refused
 * and no count is lost.
 */
export class FailedAttempts {
  readonly #capacity: number;
  readonly #log: RequestLog;
  readonly #slab: Slab;
  readonly #byRange = new Map<string, Entry>();
  readonly #entries: Entry[] = [];
  readonly #shared: Entry;
  #hand = 0;
  #now = 0;

  constructor(options: FailedAttemptsOptions = {}) {
    const perMinute = options.perMinute ?? 60;
    this.#capacity = options.addresses ?? 65_536;
    this.#log = RequestLog.alone(perMinute);
    this.#slab = new Slab();
    this.#shared = this.#make('');
  }

  get size(): number {
    return this.#byRange.size;
  }

  /** Records one failure. @returns 0 for a 401; else the seconds of `Retry-After` for a 429. Refused failures count, too */
  count(address: string, nowMs: Millis): number {
    if (nowMs > this.#now) this.#now = Math.floor(nowMs);
    const range = addressRange(address);
    const entry = this.#byRange.get(range) ?? this.#add(range);
    const ms = this.#now | 0;
    this.#emptyOld(entry);
    const count = this.#log.add(this.#slab, entry.at, ms);
    entry.hour = this.#hour;
    if (count < this.#log.capacity) return 0;
    return Math.max(1, Math.ceil(this.#log.oldestLeavesIn(this.#slab, entry.at, ms) / 1000));
  }

  get #hour(): number {
    return Math.floor(this.#now / hourMs);
  }

  #make(range: string): Entry {
    const at = this.#slab.take(this.#log.units);
    this.#log.clear(this.#slab, at);
    return { range, at, hour: this.#hour };
  }

  /** The log's times are modulo 2^32, so old entries are emptied before they are read. */
  #emptyOld(entry: Entry): void {
    if (this.#hour - entry.hour > 1) this.#log.clear(this.#slab, entry.at);
  }

  #add(range: string): Entry {
    let entry: Entry | undefined;
    if (this.#entries.length < this.#capacity) {
      entry = this.#make(range);
      this.#entries.push(entry);
    } else {
      entry = this.#expired();
      if (entry === undefined) return this.#shared;
      this.#byRange.delete(entry.range);
      this.#log.clear(this.#slab, entry.at);
      entry.range = range;
    }
    this.#byRange.set(range, entry);
    return entry;
  }

  /** Continues from where the last walk stopped, so that every entry is reached. */
  #expired(): Entry | undefined {
    for (let step = 0; step < lookedAt; step++) {
      const entry = this.#entries[this.#hand]!;
      this.#hand = (this.#hand + 1) % this.#capacity;
      this.#emptyOld(entry);
      if (this.#log.expire(this.#slab, entry.at, this.#now | 0) === 0) return entry;
    }
    return undefined;
  }
}
