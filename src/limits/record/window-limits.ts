/** The limits of one record; null for none. */
export interface WindowLimits {
  /** Requests per minute; also the capacity of the exact log. */
  readonly rpm: number;
  readonly rpd: number | null;
  readonly tpm: number | null;
  readonly tpd: number | null;
  readonly concurrent: number | null;
}

/** The limits of one tier by scope, from the innermost. */
export type FamilyLimits = readonly WindowLimits[];

/**
 * The largest limits that fit the layout. A bucket stops counting at its largest value, which must exceed the limit by as much as
 * open reservations can take back; otherwise a flood of refused attempts would open the window (contract F.2).
 */
export const mostPossible = {
  /** Head and count of the log are 16-bit. */
  rpm: 60_000,
  /** Buckets stop at 2^23; 145 of them fit a 32-bit sum. */
  rpd: 8_000_000,
  /** Eleven minutes of it fit a 31-bit bucket of the day. */
  tpm: 190_000_000,
  /** Exact in a double. */
  tpd: 1_000_000_000_000_000,
  concurrent: 65_535,
} as const satisfies Record<keyof WindowLimits, number>;

const names = ['rpm', 'rpd', 'tpm', 'tpd', 'concurrent'] as const;

/** @throws RangeError for a limit that does not fit the layout */
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
