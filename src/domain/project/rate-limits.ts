/** Limits of a project's own, for one model or for all of it; null where the tier's holds (contract F.8). */
export interface RateLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly requestsPerDay: number | null;
}

/** As events have them. */
export interface RateLimitFields {
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly requests_per_day: number | null;
}

/** Stands for the project as a whole, beside ids of models, which begin with a letter or a digit. */
export const wholeProject = '*';

/** Rows with a value of their own. */
export type RateLimitRows = Readonly<Record<string, RateLimits>>;

export const noRateLimits: RateLimits = { requestsPerMinute: null, tokensPerMinute: null, requestsPerDay: null };

const names = ['requestsPerMinute', 'tokensPerMinute', 'requestsPerDay'] as const;

export interface RateLimitChange {
  readonly model: string;
  /** Null takes a value away; one that is absent stays. */
  readonly values: Partial<RateLimits>;
  /** Those of the project's tier: a row that repeats one of them has none of its own. */
  readonly tier: Readonly<Record<keyof RateLimits, number>>;
}

/** The row after a change; undefined if it changes nothing. */
export const changedRow = (before: RateLimits, { values, tier }: RateLimitChange): RateLimits | undefined => {
  const changed = (name: keyof RateLimits): number | null => {
    const value = values[name];
    if (value === undefined) return before[name];
    return value === tier[name] ? null : value;
  };
  const after: RateLimits = {
    requestsPerMinute: changed('requestsPerMinute'),
    tokensPerMinute: changed('tokensPerMinute'),
    requestsPerDay: changed('requestsPerDay'),
  };
  return names.every((name) => before[name] === after[name]) ? undefined : after;
};

/** The row of an event; null if none of its values is its own. */
export const rowOfEvent = (event: RateLimitFields): RateLimits | null => {
  const row: RateLimits = {
    requestsPerMinute: event.requests_per_minute,
    tokensPerMinute: event.tokens_per_minute,
    requestsPerDay: event.requests_per_day,
  };
  return names.every((name) => row[name] === null) ? null : row;
};
