import type { WindowLimits } from './window-limits.ts';

/**
 * A record is a header of 16 Int32 words and the arrays that its limits need, in one run of a SharedArrayBuffer: nothing
 * in it points to an object. Its address is the index of its first word. Ticks are whole seconds and whole ten minutes of
 * the store's monotonic time.
 *
 * ```
 * header | tokens a day: f64 sum, 145 × i32 | tokens a minute: 61 × i32 | requests a day: 145 × u16 or i32 | log: rpm × u16
 * ```
 */

/**
 * The header, in Int32 words; some are two u16 halves. The first eight are all that an attempt reads and writes: they are
 * one cache line or two, where the whole header was two or three (at 1e5 keys every line is a miss of 0.1 µs).
 */
/** u16: kind; u16: flags. */
export const kindWord = 0;
/** u16: where the log's next entry goes; u16: its entries. */
export const logWord = 1;
/** Milliseconds of the newest attempt, modulo 2^32. A record that rests for a day is reset, so the wrap is never met. */
export const newestWord = 2;
/** In u16 elements. Milliseconds from the oldest logged attempt to the newest: less than a minute, so it fits. */
export const spanHalf = 6;
/** In u16 elements. */
export const inFlightHalf = 7;
/** Ten minutes up to which the day rings have been advanced. */
export const dayWord = 4;
/** Sum of the requests-a-day ring. */
export const requestsWord = 5;
/** Slot of the project, or -1 (key); number of records that name this one as their parent (project, organization). */
export const parentWord = 6;
/** Slot of the organization (key, project). */
export const organizationWord = 7;
/** Words 8 and 9: the sum of the tokens-a-minute ring, as a double. */
export const tokensWord = 8;
/** Second up to which the tokens-a-minute ring has been advanced. */
export const secondWord = 10;
/** u16: a second not after the oldest one with tokens; u16: the same of the day's requests. Both modulo 2^16. */
export const oldestWord = 11;
/** u16: metrics whose limit refused last; u16: ten minutes not after the oldest ones with tokens, modulo 2^16. */
export const refusedWord = 12;
/** Second of that refusal. */
export const refusedAtWord = 13;
/* Word 14 of an organization's record is kept for the spin lock of several workers (limits.md 1.5). */
/** The slot that this is the record of. */
export const slotWord = 15;
/** Words before the rings; the same in every kind. Even, since a double may come next. */
export const headerWords = 16;

/** In the flags: the record has changed since its last snapshot. */
export const changedFlag = 1;

export const secondMs = 1_000;
export const tenMinutesMs = 600_000;
export const dayMs = 86_400_000;
export const minuteMs = 60_000;
/** The running second and the 60 full ones before it: what counts can only be more than the true 60 s (limits.md 1.2). */
export const minuteBuckets = 61;
export const dayBuckets = 145;

/** A bucket stops counting here; see `mostPossible`. */
export const mostRequestsNarrow = 0xffff;
export const mostRequestsWide = 0x7f_ffff;
export const mostTokens = 0x7fff_ffff;

/** Records begin and end at 16 bytes: 64 would be kinder to the cache and costs 6 % more memory per Free key. */
export const unitWords = 4;

export interface Layout {
  /** First Int32 word of the day's tokens: their sum as a double, then the ring; 0 where there is none. */
  readonly dayTokensAt: number;
  readonly minuteTokensAt: number;
  /** In elements: u16 where `rpdWide` is 0, Int32 words where it is 1. */
  readonly requestsAt: number;
  readonly requestsWide: 0 | 1;
  /** In u16 elements. */
  readonly logAt: number;
  /** Length in units of 16 bytes. */
  readonly units: number;
}

/** Where the parts of a record with these limits lie. */
export const layoutOf = (limits: WindowLimits): Layout => {
  let words = headerWords;
  const dayTokensAt = limits.tpd === null ? 0 : words;
  if (limits.tpd !== null) words += 2 + dayBuckets;
  const minuteTokensAt = limits.tpm === null ? 0 : words;
  if (limits.tpm !== null) words += minuteBuckets;
  const requestsWide = limits.rpd !== null && limits.rpd > mostRequestsNarrow ? 1 : 0;
  const requestsAt = limits.rpd === null ? 0 : requestsWide ? words : words * 2;
  let halves = words * 2;
  if (limits.rpd !== null) halves += requestsWide ? dayBuckets * 2 : dayBuckets;
  const logAt = halves;
  halves += limits.rpm;
  const units = Math.ceil(halves / (unitWords * 2));
  return { dayTokensAt, minuteTokensAt, requestsAt, requestsWide, logAt, units };
};
