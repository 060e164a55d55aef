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

/** In u16 elements from the record's address: a half that the log's head leaves free. */
const inFlightHalf = 5;
/** Metrics that refused last, and the second of that. */
const refusedHalf = 6;
const refusedAtWord = 4;
/** 1 while the next snapshot includes the record. */
const unsavedHalf = 7;
/** Ten minutes up to which the day's windows are advanced. */
const wokenWord = 5;

/** The address of freed records. */
const nowhere = 0;

/** Ten minutes after which everything has expired. */
const longestRest = 145;

/**
 * The counts of one key, project or organization. The numbers are in the slab, and move there when the limits change. They are
 * valid as of the last `advance`.
 */
export class WindowRecord {
  // Few fields, the most used first: with a million records hardly any is in a CPU cache.
  kind: Kind;
  #at: number;
  /** The record of the next outer scope. */
  readonly parent: WindowRecord | null;
  readonly organization: WindowRecord;
  /** Identifies the record in the journal of this process. */
  readonly number: number;
  readonly id: string;
  /** Number of records with this one as parent. */
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

  get freed(): boolean {
    return this.#at === nowhere;
  }

  get unsaved(): boolean {
    return this.kind.slab.u16[(this.#at << 1) + unsavedHalf] === 1;
  }

  set unsaved(unsaved: boolean) {
    this.kind.slab.u16[(this.#at << 1) + unsavedHalf] = unsaved ? 1 : 0;
  }

  /** At most the limit. */
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

  /** As bits of scope 0; 0 while none has refused. */
  get refused(): number {
    return this.kind.slab.u16[(this.#at << 1) + refusedHalf]!;
  }

  get refusedAt(): number {
    return this.kind.slab.i32[this.#at + refusedAtWord]!;
  }

  used(metric: number): number {
    if (metric === requestsPerMinute) return this.requestsLastMinute;
    return metric === concurrentRequests ? this.inFlight : this.#sum(metric);
  }

  /** 0 where there is no limit. */
  limit(metric: number): number {
    return this.kind.limits[metric]!;
  }

  /** Counts an attempt. @returns the limits that refuse it because of earlier counts, as bits of scope 0 */
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

  /** Changes the tokens of a second or of ten minutes, to which the window must have been advanced. */
  addTokens(second: number, by: number): void {
    this.kind.minuteTokens?.add(this.kind.slab, this.#at, second, by);
  }

  addTokensToday(tenMinutes: number, by: number): void {
    this.kind.dayTokens?.add(this.kind.slab, this.#at, tenMinutes, by);
  }

  addRequestsToday(tenMinutes: number, by: number): void {
    this.kind.dayRequests?.add(this.kind.slab, this.#at, tenMinutes, by);
  }

  /** Adds an attempt to the log only; it must not be older than those in it. */
  logAttempt(ageMs: number, time: WindowTime): void {
    if (ageMs < minuteMs) this.kind.log.add(this.kind.slab, this.#at, (time.ms - ageMs) | 0);
  }

  /** Moves all windows to the time. Idempotent. */
  advance(time: WindowTime): void {
    this.advanceTokens(time);
    this.kind.log.expire(this.kind.slab, this.#at, time.ms);
  }

  /** The same, except for the requests of a minute. */
  advanceTokens(time: WindowTime): void {
    this.#wake(time);
    this.kind.minuteTokens?.advance(this.kind.slab, this.#at, time.second);
  }

  /**
   * Milliseconds until the window of a metric holds at most `target` without traffic. For the requests of a minute `target` is
   * the limit less one or the use less one, which amount to the same.
   */
  waitFor(metric: number, target: number, time: WindowTime): number {
    if (metric === requestsPerMinute) {
      const { log } = this.kind;
      return log.count(this.kind.slab, this.#at) <= target ? 0 : log.oldestLeavesIn(this.kind.slab, this.#at, time.ms);
    }
    return this.kind.ring(metric)?.waitFor(this.kind.slab, this.#at, target, time.now) ?? 0;
  }

  /** Milliseconds until the rest of the window grows without traffic; 0 when it is empty. */
  resetIn(metric: number, time: WindowTime): number {
    const used = this.used(metric);
    return used === 0 ? 0 : this.waitFor(metric, Math.min(used, this.limit(metric)) - 1, time);
  }

  /** Nothing is counted or in flight, and no record has this one as parent. */
  get isEmpty(): boolean {
    const nothingCounted =
      this.requestsLastMinute + this.requestsToday + this.tokensLastMinute + this.tokensToday === 0;
    return nothingCounted && this.inFlight === 0 && this.children === 0;
  }

  /** Empties all windows. Requests in flight stay. */
  clear({ second, tenMinutes }: WindowTime): void {
    const { log, minuteTokens, dayRequests, dayTokens } = this.kind;
    log.clear(this.kind.slab, this.#at);
    minuteTokens?.clear(this.kind.slab, this.#at, second);
    dayRequests?.clear(this.kind.slab, this.#at, tenMinutes);
    dayTokens?.clear(this.kind.slab, this.#at, tenMinutes);
    this.kind.slab.i32[this.#at + wokenWord] = tenMinutes;
  }

  /**
   * Takes the limits of another kind. Windows and requests in flight stay; the log keeps as many entries as the new limit. When a
   * limit rises, attempts beyond the old one are unknown and do not count (contract F.1).
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

  free(): void {
    this.kind.slab.give(this.#at, this.kind.units);
    this.#at = nowhere;
  }

  /** Milliseconds since the newest attempt, and the gaps before it, oldest first. */
  attempts(time: WindowTime): { readonly count: number; readonly ageMs: number; readonly gaps: Uint16Array } {
    const { log } = this.kind;
    const ageMs = (time.ms - log.newest(this.kind.slab, this.#at)) >>> 0;
    return { count: this.requestsLastMinute, ageMs, gaps: log.gaps(this.kind.slab, this.#at) };
  }

  /** Restores such attempts into an empty log. */
  loadAttempts(ageMs: number, gaps: Uint16Array, time: WindowTime): void {
    if (ageMs >= minuteMs) return;
    this.kind.log.load(this.kind.slab, this.#at, (time.ms - ageMs) | 0, gaps);
    this.kind.log.expire(this.kind.slab, this.#at, time.ms);
  }

  /** Visits the non-empty buckets, newest first, with their age in ticks. */
  forEachBucket(metric: number, visit: (ago: number, amount: number) => void): void {
    this.kind.ring(metric)?.forEach(this.kind.slab, this.#at, visit);
  }

  #sum(metric: number): number {
    return this.kind.ring(metric)?.sum(this.kind.slab, this.#at) ?? 0;
  }

  /** Advances the day's windows, once in ten minutes. */
  #wake({ tenMinutes }: WindowTime): void {
    const i32 = this.kind.slab.i32;
    const before = i32[this.#at + wokenWord]!;
    if (before >= tenMinutes) return;
    i32[this.#at + wokenWord] = tenMinutes;
    this.kind.dayRequests?.advance(this.kind.slab, this.#at, tenMinutes);
    this.kind.dayTokens?.advance(this.kind.slab, this.#at, tenMinutes);
    // The log's times are modulo 2^32 ms, so it is emptied while its age is still certain.
    if (tenMinutes - before >= longestRest) this.kind.log.clear(this.kind.slab, this.#at);
  }
}
