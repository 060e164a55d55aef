import { minuteMs } from '../../clock.ts';
import { headerWords, type Kind } from './kind.ts';
import {
  concurrentBit,
  concurrentRequests,
  dayBit,
  minuteBit,
  requestsPerDay,
  requestsPerMinute,
  tokensPerDay,
  tokensPerMinute,
} from './metrics.ts';
import type { WindowTime } from './time.ts';

/** In u16 elements from the record's address: the half that the log's head leaves free. */
const inFlightHalf = 5;
/** Metrics that refused last, as bits, and the second of that. */
const refusedHalf = 6;
const refusedAtWord = 4;
/** 1 while it is to be in the next snapshot. */
const unsavedHalf = 7;
/** Ten minutes up to which the day's windows have been advanced. */
const wokenWord = 5;

/** Where no record begins. */
const nowhere = 0;

/** Ten minutes after which nothing in a record counts any more. */
const longestRest = 145;

/**
 * What is counted of one key, project or organization. Who it is stands in the object; the numbers lie in the slab, without
 * an object of their own. A record moves there when its limits change, and nobody outside knows where it lies.
 *
 * Numbers of the windows are right for the time of the last `advance`.
 */
export class WindowRecord {
  // Few, and those that every request reads first: of a million records hardly any is in a cache.
  kind: Kind;
  #at: number;
  /** The record around this one: of a key its project or organization, of a project its organization. */
  readonly parent: WindowRecord | null;
  readonly organization: WindowRecord;
  /** Names it in the journal of one process. */
  readonly number: number;
  readonly id: string;
  /** Records that have this one as their parent. */
  children = 0;

  constructor(kind: Kind, id: string, number: number, parent: WindowRecord | null, time: WindowTime) {
    const { slab } = kind;
    this.kind = kind;
    this.#at = slab.take(kind.units);
    this.parent = parent;
    this.organization = parent === null ? this : parent.organization;
    this.number = number;
    this.id = id;
    slab.i32.fill(0, this.#at, this.#at + headerWords);
    this.clear(time);
  }

  /** Its memory is somebody else's. */
  get freed(): boolean {
    return this.#at === nowhere;
  }

  /** It is to be in the next snapshot. */
  get unsaved(): boolean {
    return this.kind.slab.u16[(this.#at << 1) + unsavedHalf] === 1;
  }

  set unsaved(unsaved: boolean) {
    this.kind.slab.u16[(this.#at << 1) + unsavedHalf] = unsaved ? 1 : 0;
  }

  /** Attempts of the last minute, as many as the limit at most. */
  get requestsLastMinute(): number {
    return this.kind.log.count(this.kind.slab, this.#at);
  }

  get requestsToday(): number {
    return this.#sum(requestsPerDay);
  }

  get tokensLastMinute(): number {
    return this.#sum(tokensPerMinute);
  }

  get tokensToday(): number {
    return this.#sum(tokensPerDay);
  }

  get inFlight(): number {
    return this.kind.slab.u16[(this.#at << 1) + inFlightHalf]!;
  }

  private set inFlight(requests: number) {
    this.kind.slab.u16[(this.#at << 1) + inFlightHalf] = requests;
  }

  /** Limits of this record that refused last, as bits of scope 0; 0 while none has. */
  get refused(): number {
    return this.kind.slab.u16[(this.#at << 1) + refusedHalf]!;
  }

  /** The second of that. */
  get refusedAt(): number {
    return this.kind.slab.i32[this.#at + refusedAtWord]!;
  }

  /** What the window of a metric holds. */
  used(metric: number): number {
    if (metric === requestsPerMinute) return this.requestsLastMinute;
    return metric === concurrentRequests ? this.inFlight : this.#sum(metric);
  }

  /** The limit of a metric; 0 where there is none. */
  limit(metric: number): number {
    return this.kind.limits[metric]!;
  }

  /**
   * Counts an attempt, whatever comes of it.
   * @returns the limits that refuse it for what was there before, as bits of scope 0
   */
  attempt(time: WindowTime): number {
    const { slab } = this.kind;
    this.#wake(time);
    const at = this.#at;
    const { limits, log, dayRequests } = this.kind;
    let why = log.add(slab, at, time.ms) >= limits[requestsPerMinute]! ? minuteBit : 0;
    if (dayRequests !== null) {
      if (dayRequests.sum(slab, at) >= limits[requestsPerDay]!) why |= dayBit;
      dayRequests.add(slab, at, time.tenMinutes, 1);
    }
    const concurrent = limits[concurrentRequests]!;
    if (concurrent !== 0 && this.inFlight >= concurrent) why |= concurrentBit;
    return why;
  }

  /** Notes which of its limits have refused, for whoever asks why. */
  refuse(bits: number, time: WindowTime): void {
    this.kind.slab.u16[(this.#at << 1) + refusedHalf] = bits;
    this.kind.slab.i32[this.#at + refusedAtWord] = time.second;
  }

  enter(): void {
    this.inFlight++;
  }

  leave(): void {
    if (this.inFlight > 0) this.inFlight--;
  }

  /** Changes the tokens that a second, or ten minutes, hold by so many; the window must have been advanced to them. */
  addTokens(second: number, by: number): void {
    this.kind.minuteTokens?.add(this.kind.slab, this.#at, second, by);
  }

  addTokensToday(tenMinutes: number, by: number): void {
    this.kind.dayTokens?.add(this.kind.slab, this.#at, tenMinutes, by);
  }

  addRequestsToday(tenMinutes: number, by: number): void {
    this.kind.dayRequests?.add(this.kind.slab, this.#at, tenMinutes, by);
  }

  /** An attempt of the last minute, `ageMs` ago, for the log alone; none in it may be younger. */
  logAttempt(ageMs: number, time: WindowTime): void {
    if (ageMs < minuteMs) this.kind.log.add(this.kind.slab, this.#at, (time.ms - ageMs) | 0);
  }

  /** Moves all windows to the time. Running it twice changes nothing more. */
  advance(time: WindowTime): void {
    this.advanceTokens(time);
    this.kind.log.expire(this.kind.slab, this.#at, time.ms);
  }

  /** The same for all but the requests of a minute. */
  advanceTokens(time: WindowTime): void {
    this.#wake(time);
    this.kind.minuteTokens?.advance(this.kind.slab, this.#at, time.second);
  }

  /**
   * Milliseconds until the window of a metric holds no more than `target` without further traffic. For the requests of a
   * minute `target` is the limit less one or the use less one: which are the same, as the log holds no more than the limit.
   */
  waitFor(metric: number, target: number, time: WindowTime): number {
    if (metric === requestsPerMinute) {
      const { log } = this.kind;
      return log.count(this.kind.slab, this.#at) <= target ? 0 : log.oldestLeavesIn(this.kind.slab, this.#at, time.ms);
    }
    return this.kind.ring(metric)?.waitFor(this.kind.slab, this.#at, target, time.now) ?? 0;
  }

  /** Milliseconds until what remains of the window first grows without further traffic; 0 when the window is empty. */
  resetIn(metric: number, time: WindowTime): number {
    const used = this.used(metric);
    return used === 0 ? 0 : this.waitFor(metric, Math.min(used, this.limit(metric)) - 1, time);
  }

  /** Nothing is counted, in flight or below: it is as good as a new one. */
  get isEmpty(): boolean {
    const nothingCounted =
      this.requestsLastMinute + this.requestsToday + this.tokensLastMinute + this.tokensToday === 0;
    return nothingCounted && this.inFlight === 0 && this.children === 0;
  }

  /** Forgets all windows, but not who is in flight. */
  clear({ second, tenMinutes }: WindowTime): void {
    const { log, minuteTokens, dayRequests, dayTokens } = this.kind;
    log.clear(this.kind.slab, this.#at);
    minuteTokens?.clear(this.kind.slab, this.#at, second);
    dayRequests?.clear(this.kind.slab, this.#at, tenMinutes);
    dayTokens?.clear(this.kind.slab, this.#at, tenMinutes);
    this.kind.slab.i32[this.#at + wokenWord] = tenMinutes;
  }

  /**
   * Takes the limits of another kind. Windows and requests in flight stay; of the log the newest entries, as many as the
   * new limit, and more are never needed. When a limit rises, attempts beyond the old one are not known any more and do not
   * count (contract F.1). A bucket too small for its count stops at its largest value, which is no less than the limit.
   */
  become(kind: Kind, time: WindowTime): void {
    this.advance(time);
    const { kind: old } = this;
    const from = this.#at;
    const { slab } = this.kind;
    const to = slab.take(kind.units);
    slab.i32.copyWithin(to, from, from + headerWords);
    this.kind = kind;
    this.#at = to;
    this.clear(time);
    if (old.log.count(slab, from) > 0) kind.log.load(slab, to, old.log.newest(slab, from), old.log.gaps(slab, from));
    for (const metric of [tokensPerMinute, requestsPerDay, tokensPerDay]) {
      const now = metric === tokensPerMinute ? time.second : time.tenMinutes;
      old.ring(metric)?.forEach(slab, from, (ago, amount) => kind.ring(metric)?.add(slab, to, now - ago, amount));
    }
    slab.give(from, old.units);
  }

  /** Gives its memory back. */
  free(): void {
    this.kind.slab.give(this.#at, this.kind.units);
    this.#at = nowhere;
  }

  /** Milliseconds since the newest attempt in the log, and the gaps before it, oldest first. */
  attempts(time: WindowTime): { readonly count: number; readonly ageMs: number; readonly gaps: Uint16Array } {
    const { log } = this.kind;
    const ageMs = (time.ms - log.newest(this.kind.slab, this.#at)) >>> 0;
    return { count: this.requestsLastMinute, ageMs, gaps: log.gaps(this.kind.slab, this.#at) };
  }

  /** Puts such attempts back into an empty log. */
  loadAttempts(ageMs: number, gaps: Uint16Array, time: WindowTime): void {
    if (ageMs >= minuteMs) return;
    this.kind.log.load(this.kind.slab, this.#at, (time.ms - ageMs) | 0, gaps);
    this.kind.log.expire(this.kind.slab, this.#at, time.ms);
  }

  /** The buckets of a metric that are not empty, newest first, by how many ticks ago they were. */
  forEachBucket(metric: number, visit: (ago: number, amount: number) => void): void {
    this.kind.ring(metric)?.forEach(this.kind.slab, this.#at, visit);
  }

  #sum(metric: number): number {
    return this.kind.ring(metric)?.sum(this.kind.slab, this.#at) ?? 0;
  }

  /** The day's windows, once in ten minutes for a record in use. */
  #wake({ tenMinutes }: WindowTime): void {
    const i32 = this.kind.slab.i32;
    const before = i32[this.#at + wokenWord]!;
    if (before >= tenMinutes) return;
    i32[this.#at + wokenWord] = tenMinutes;
    this.kind.dayRequests?.advance(this.kind.slab, this.#at, tenMinutes);
    this.kind.dayTokens?.advance(this.kind.slab, this.#at, tenMinutes);
    // The log's times are modulo 2^32 ms: what has rested for a day is emptied while its age is still certain.
    if (tenMinutes - before >= longestRest) this.kind.log.clear(this.kind.slab, this.#at);
  }
}
