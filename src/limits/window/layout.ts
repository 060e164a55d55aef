import type { WindowLimits } from '../tiers/window-limits.ts';

/**
 * A record is a header of 18 Int32 words and the arrays that its limits need, in one run of a SharedArrayBuffer: nothing
 * in it points to an object. Its address is the index of its first word. Ticks are whole seconds and whole ten minutes of
 * the store's monotonic time. The running tick of a ring is counted beside its sum and laid into its cell when it is over:
 * at 1e5 keys every other line of memory is a miss of 0.1 to 0.2 µs.
 *
 * ```
 * header | tokens a day: f64 sum, i32 running, 144 × i32 | tokens a minute: 60 × i32 | requests a day: 144 × u16 or i32 | log: rpm × u16
 * ```
 */

/** The header, in Int32 words; some are two u16 halves. The first thirteen are all that an attempt and its tokens need. */
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
/** Ten minutes up to which the day's windows have been advanced: the running one. */
export const dayWord = 4;
/** Sum of the day's requests. */
export const requestsWord = 5;
/** Those of the running ten minutes. */
export const requestsNowWord = 6;
/** Second up to which the minute's tokens have been advanced: the running one. */
export const secondWord = 7;
/** Words 8 and 9: the sum of the minute's tokens, as a double. */
export const tokensWord = 8;
/** Those of the running second. */
export const tokensNowWord = 10;
/** u16: a second not after the oldest one with tokens; u16: the same of the day's requests. Both modulo 2^16. */
export const oldestWord = 11;
/** The slot that this is the record of. */
export const slotWord = 12;
/** u16: metrics whose limit refused last; u16: ten minutes not after the oldest ones with tokens, modulo 2^16. */
export const refusedWord = 13;
/** Second of that refusal. */
export const refusedAtWord = 14;
/** Slot of the project, or -1 (key); number of records that name this one as their parent (project, organization). */
export const parentWord = 15;
/** Slot of the organization (key, project). */
export const organizationWord = 16;
/* Word 17 of an organization's record is kept for the spin lock of several workers (limits.md 1.5). */
/** Words before the rings; the same in every kind. Even, since a double may come next. */
export const headerWords = 18;
/** The day's tokens, from the beginning of their own part: the sum, the running ten minutes, and the ring. */
export const dayTokensNowWord = 2;
export const dayTokensRingWord = 3;

/** In the flags: the record has changed since its last snapshot. */
export const changedFlag = 1;

export const secondMs = 1_000;
export const tenMinutesMs = 600_000;
export const dayMs = 86_400_000;
export const minuteMs = 60_000;
/**
 * Cells of a ring: the full seconds, and the full ten minutes, that count besides the running one. With it they are a
 * bucket more than the window is long: what counts can only be more than the true 60 s (limits.md 1.2).
 */
export const minuteCells = 60;
export const dayCells = 144;

/** A bucket stops counting here; see `mostPossible`. */
export const mostRequestsNarrow = 0xffff;
export const mostRequestsWide = 0x7f_ffff;
export const mostTokens = 0x7fff_ffff;

/** Records begin and end at 16 bytes: 64 would be kinder to the cache and costs 6 % more memory per Free key. */
export const unitWords = 4;

export interface Layout {
  /** First Int32 word of the day's tokens; 0 where there are none. */
  readonly dayTokensAt: number;
  readonly minuteTokensAt: number;
  /** In elements: u16 where `requestsWide` is 0, Int32 words where it is 1. */
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
  if (limits.tpd !== null) words += dayTokensRingWord + dayCells;
  const minuteTokensAt = limits.tpm === null ? 0 : words;
  if (limits.tpm !== null) words += minuteCells;
  const requestsWide = limits.rpd !== null && limits.rpd > mostRequestsNarrow ? 1 : 0;
  const requestsAt = limits.rpd === null ? 0 : requestsWide ? words : words * 2;
  let halves = words * 2;
  if (limits.rpd !== null) halves += requestsWide ? dayCells * 2 : dayCells;
  const logAt = halves;
  halves += limits.rpm;
  const units = Math.ceil(halves / (unitWords * 2));
  return { dayTokensAt, minuteTokensAt, requestsAt, requestsWide, logAt, units };
};
