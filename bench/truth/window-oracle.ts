import { type TruthRow, truthRow } from './truth.ts';

/** One request as its client saw it. Times are milliseconds of the client's monotonic clock. */
export interface Attempt {
  readonly key: string;
  readonly project: string;
  readonly sent: number;
  readonly received: number;
  readonly isRefused: boolean;
  /** Seconds, of a refusal. */
  readonly retryAfter: number | null;
  /** Whether it was sent when the Retry-After before it had been waited out, without other traffic. */
  readonly isPatient: boolean;
}

/** Attempts admitted per window: of a key, of a project, of the organization. */
export interface ScopeLimits {
  readonly key: number;
  readonly project: number;
  readonly organization: number;
}

const scopes = ['key', 'project', 'organization'] as const;
type Scope = (typeof scopes)[number];

export const windowMs = 60_000;

const groupOf = (scope: Scope, { key, project }: Attempt): string =>
  scope === 'key' ? key : scope === 'project' ? project : '';

const at = (ms: number): string => `${(ms / 1000).toFixed(3)} s`;

/**
 * The server has counted an attempt at some moment between its sending and its answer. A claim is violated only where it
 * is for every such moment, so that no delay on the way is taken for a fault. The window is contract F.1: an attempt at
 * e counts at t while t − e < 60 s, refused ones too.
 */
export const judgeWindow = (attempts: readonly Attempt[], limits: ScopeLimits): readonly TruthRow[] => {
  const admitted = attempts.filter(({ isRefused }) => !isRefused);
  const refused = attempts.filter(({ isRefused }) => isRefused);
  const patient = attempts.filter(({ isPatient }) => isPatient);
  const withAdvice = refused.filter(({ retryAfter }) => retryAfter !== null);
  return [
    truthRow('never more than the limit admitted in any 60 s', admitted.length, overAdmitted(admitted, limits)),
    truthRow(
      'admitted only below the limit, refused attempts counted',
      admitted.length,
      uncounted(attempts, admitted, limits),
    ),
    truthRow('nothing is refused below the limit', refused.length, unjust(attempts, refused, limits)),
    truthRow('every refusal says when to come back', refused.length, silent(refused)),
    truthRow('Retry-After is never too early', withAdvice.length, wrongAdvice(attempts, withAdvice, limits, 'early')),
    truthRow('Retry-After is never too late', withAdvice.length, wrongAdvice(attempts, withAdvice, limits, 'late')),
    truthRow('who waits it out is admitted', patient.length, turnedAway(patient)),
  ];
};

const groups = (scope: Scope, attempts: readonly Attempt[]): Attempt[][] => {
  const found = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    const name = groupOf(scope, attempt);
    const group = found.get(name) ?? [];
    group.push(attempt);
    found.set(name, group);
  }
  return [...found.values()];
};

/** Any limit + 1 that were admitted within less than the window, from the first's sending to the last's answer. */
const overAdmitted = (admitted: readonly Attempt[], limits: ScopeLimits): string[] =>
  scopes.flatMap((scope) =>
    groups(scope, admitted).flatMap((group) => {
      const order = group.toSorted((a, b) => a.received - b.received);
      const limit = limits[scope];
      const found: string[] = [];
      for (let last = limit; last < order.length; last++) {
        const some = order.slice(last - limit, last + 1);
        const first = Math.min(...some.map(({ sent }) => sent));
        const length = order[last]!.received - first;
        if (length < windowMs) found.push(`${limit + 1} of one ${scope} admitted within ${at(length)}, limit ${limit}`);
      }
      return found;
    }),
  );

const uncounted = (attempts: readonly Attempt[], admitted: readonly Attempt[], limits: ScopeLimits): string[] =>
  scopes.flatMap((scope) =>
    admitted.flatMap((one) => {
      const group = groupOf(scope, one);
      const before = attempts.filter(
        (other) =>
          other !== one &&
          groupOf(scope, other) === group &&
          other.received <= one.sent &&
          one.received - other.sent < windowMs,
      ).length;
      return before < limits[scope]
        ? []
        : [
            `admitted at ${at(one.sent)} after ${before} attempts of its ${scope} in the window, limit ${limits[scope]}`,
          ];
    }),
  );

/** A refusal for which no scope can have been full. */
const unjust = (attempts: readonly Attempt[], refused: readonly Attempt[], limits: ScopeLimits): string[] =>
  refused.flatMap((one) => {
    const counts = scopes.map((scope) => {
      const group = groupOf(scope, one);
      return attempts.filter(
        (other) =>
          other !== one &&
          groupOf(scope, other) === group &&
          other.sent <= one.received &&
          one.sent - other.received < windowMs,
      ).length;
    });
    if (scopes.some((scope, i) => counts[i]! >= limits[scope])) return [];
    return [`refused at ${at(one.sent)} with at most ${counts.join(', ')} attempts of key, project, organization`];
  });

const silent = (refused: readonly Attempt[]): string[] =>
  refused.filter(({ retryAfter }) => retryAfter === null).map(({ sent }) => `no Retry-After at ${at(sent)}`);

const turnedAway = (patient: readonly Attempt[]): string[] =>
  patient.filter(({ isRefused }) => isRefused).map(({ sent }) => `refused again at ${at(sent)}`);

/** The limit-th largest of the times, plus the window: when the scope has room again; -Infinity where it has room. */
const roomAt = (times: readonly number[], limit: number): number =>
  times.length < limit ? -Infinity : times.toSorted((a, b) => b - a)[limit - 1]! + windowMs;

/** contract F.6: whole seconds until every scope has room, the refused attempt itself counted. */
const wrongAdvice = (
  attempts: readonly Attempt[],
  refused: readonly Attempt[],
  limits: ScopeLimits,
  wrong: 'early' | 'late',
): string[] =>
  refused.flatMap((one) => {
    const rooms = scopes.map((scope) => {
      const group = groupOf(scope, one);
      const others = attempts.filter((other) => other !== one && groupOf(scope, other) === group);
      const times =
        wrong === 'early'
          ? [one.sent, ...others.filter(({ received }) => received <= one.sent).map(({ sent }) => sent)]
          : [one.received, ...others.filter(({ sent }) => sent <= one.received).map(({ received }) => received)];
      return roomAt(times, limits[scope]);
    });
    const room = Math.max(...rooms);
    const said = one.retryAfter!;
    if (wrong === 'early') {
      const least = Math.max(1, Math.ceil((room - one.received) / 1000));
      return said < least ? [`${said} s said at ${at(one.sent)}, room comes in ${least} s at the earliest`] : [];
    }
    const most = Math.max(1, Math.ceil((room - one.sent) / 1000));
    return said > most ? [`${said} s said at ${at(one.sent)}, room comes in ${most} s at the latest`] : [];
  });
