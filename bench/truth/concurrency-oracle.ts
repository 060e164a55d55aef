import { type TruthRow, truthRow } from './truth.ts';
import type { ScopeLimits } from './window-oracle.ts';

/** One streamed request as its client saw it. Times are milliseconds of the client's monotonic clock. */
export interface Flight {
  readonly key: string;
  readonly project: string;
  readonly sent: number;
  /** When the answer's head came; null where none did. */
  readonly head: number | null;
  /** The last moment at which it was certainly still open: data that was not the last came, or the client broke off. */
  readonly openUntil: number | null;
  /** The end of the answer, or of the connection. */
  readonly ended: number;
  readonly isRefused: boolean;
  /** Left by the client or broken on the way, and so perhaps noticed later by the gateway. */
  readonly isCut: boolean;
}

const scopes = ['key', 'project', 'organization'] as const;
type Scope = (typeof scopes)[number];

/** What a gateway may take to notice that a client has gone (reliability 5). */
export const noticeMs = 1000;

const groupOf = (scope: Scope, { key, project }: Flight): string =>
  scope === 'key' ? key : scope === 'project' ? project : '';

/** Certainly in flight: admitted when its head came, not over before its last but one piece. */
const certain = ({ isRefused, head, openUntil }: Flight): readonly [number, number] | null =>
  isRefused || head === null || openUntil === null || openUntil <= head ? null : [head, openUntil];

export const judgeConcurrency = (
  flights: readonly Flight[],
  limits: ScopeLimits,
  /** Sent when everything had ended, as many at once as every scope admits. */
  afterwards: readonly Flight[],
): readonly TruthRow[] => {
  const admitted = flights.filter((flight) => certain(flight) !== null);
  const refused = flights.filter(({ isRefused }) => isRefused);
  const leaked = afterwards.filter(({ isRefused }) => isRefused).map(({ key }) => `a slot of ${key} is still taken`);
  return [
    truthRow('never more in flight than the limit', admitted.length, tooMany(admitted, limits)),
    truthRow('nothing is refused while there are slots', refused.length, unjust(flights, refused, limits)),
    truthRow('after any mix of aborts every slot is free again', afterwards.length, leaked),
  ];
};

const tooMany = (admitted: readonly Flight[], limits: ScopeLimits): string[] =>
  scopes.flatMap((scope) => {
    const names = new Set(admitted.map((flight) => groupOf(scope, flight)));
    return [...names].flatMap((name) => {
      const edges = admitted
        .filter((flight) => groupOf(scope, flight) === name)
        .flatMap((flight) => {
          const [from, to] = certain(flight)!;
          return [
            { at: from, step: 1 },
            { at: to, step: -1 },
          ];
        })
        // What ends and what begins at the same moment did not overlap for certain.
        .sort((a, b) => a.at - b.at || a.step - b.step);
      let open = 0;
      let most = 0;
      for (const { step } of edges) {
        open += step;
        most = Math.max(most, open);
      }
      return most > limits[scope] ? [`${most} of one ${scope} in flight at once, limit ${limits[scope]}`] : [];
    });
  });

/** A refusal while no scope can have been full. */
const unjust = (flights: readonly Flight[], refused: readonly Flight[], limits: ScopeLimits): string[] =>
  refused.flatMap((one) => {
    const counts = scopes.map(
      (scope) =>
        flights.filter(
          (other) =>
            !other.isRefused &&
            groupOf(scope, other) === groupOf(scope, one) &&
            other.sent <= one.ended &&
            one.sent <= other.ended + (other.isCut ? noticeMs : 0),
        ).length,
    );
    if (scopes.some((scope, i) => counts[i]! >= limits[scope])) return [];
    return [`refused with at most ${counts.join(', ')} of key, project, organization in flight`];
  });
