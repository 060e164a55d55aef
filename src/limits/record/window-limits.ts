/** The numbers that one record enforces. `null`: no such limit at this scope. */
export interface WindowLimits {
  /** Requests started per minute; also the capacity of the exact log. */
  readonly rpm: number;
  /** Requests started per day. */
  readonly rpd: number | null;
  /** Tokens per minute and per day. */
  readonly tpm: number | null;
  readonly tpd: number | null;
  /** Requests in flight. */
  readonly concurrent: number | null;
}

/** The limits of one tier: those of the key, of the project where the family has one, of the organization. */
export type FamilyLimits = readonly WindowLimits[];

/**
 * The largest limits that the layout holds, each with the word that bounds it. The tiers file is checked against them.
 * A bucket stops counting at its own largest value, which must stay above the limit by as much as open reservations can
 * take back, or a flood of refused attempts would leave the window open (contract F.2).
 */
export const mostPossible = {
  /** Head and count of the log are 16-bit words. */
  rpm: 60_000,
  /** Buckets stop at 2^23; 145 of them fit the 32-bit sum. */
  rpd: 8_000_000,
  /** Eleven minutes of it fit a 31-bit bucket of the day window. */
  tpm: 190_000_000,
  /** Exact in a double, with room. */
  tpd: 1_000_000_000_000_000,
  concurrent: 65_535,
} as const satisfies Record<keyof WindowLimits, number>;

const names = ['rpm', 'rpd', 'tpm', 'tpd', 'concurrent'] as const;

/** @throws RangeError for a limit that is not a whole number from 1 to what the layout holds */
export const checkLimits = (limits: WindowLimits): void => {
  for (const name of names) {
    const limit = limits[name];
    if (limit === null) continue;
    if (!Number.isInteger(limit) || limit < 1 || limit > mostPossible[name]) {
      throw new RangeError(`A limit of ${limit} ${name} is not a whole number from 1 to ${mostPossible[name]}.`);
    }
  }
  if (limits.tpd !== null && limits.tpm === null) throw new RangeError('A tpd limit needs a tpm limit beside it.');
};
