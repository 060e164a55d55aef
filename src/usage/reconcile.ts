import type { Tokens } from '../domain/usage/charge.ts';
import type { Settlement } from '../domain/usage/usage-events.ts';

/** What an upstream says of one request; it may not count all kinds. */
export interface LedgerLine extends Partial<Tokens> {
  readonly request_id: string;
}

/** Where the two lists differ, by request. */
export interface Difference {
  readonly request_id: string;
  /**
   * `missing`: the upstream has it and we do not. `unknown`: we charge for it and the upstream does not know it. `tokens`: both
   * have counted, and not the same. `twice`: it is settled more than once. `estimated`: the upstream has not told us its count,
   * so that ours is an estimate, which the settlement says. `repeated`: the upstream was asked more than once, since an answer
   * was lost on the way, and we know of the one that came.
   */
  readonly kind: 'missing' | 'unknown' | 'tokens' | 'twice' | 'estimated' | 'repeated';
  /** The kinds of tokens that differ. */
  readonly ours: Partial<Tokens>;
  readonly theirs: Partial<Tokens>;
}

export interface Reconciliation {
  /** Of the ledger; and those that are the same in both. */
  readonly requests: number;
  readonly equal: number;
  /** By request, in the order of the ids. */
  readonly differences: readonly Difference[];
}

const kinds = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
] as const satisfies readonly (keyof Tokens)[];

const only = (line: Partial<Tokens>, wanted: readonly (keyof Tokens)[]): Partial<Tokens> =>
  Object.fromEntries(wanted.map((kind) => [kind, line[kind] ?? 0]));

/** A request that the upstream was asked for more than once stands in its ledger as often. */
const byRequest = (ledger: Iterable<LedgerLine>): Map<string, LedgerLine[]> => {
  const lines = new Map<string, LedgerLine[]>();
  for (const line of ledger) {
    const same = lines.get(line.request_id);
    if (same) same.push(line);
    else lines.set(line.request_id, [line]);
  }
  return lines;
};

/** What all lines of one request say together, of the kinds that any of them counts. */
const summed = (lines: readonly LedgerLine[]): Partial<Tokens> =>
  Object.fromEntries(
    kinds
      .filter((kind) => lines.some((line) => line[kind] !== undefined))
      .map((kind) => [kind, lines.reduce((sum, line) => sum + (line[kind] ?? 0), 0)]),
  );

const differingFrom = (line: Partial<Tokens>, ours: Tokens): (keyof Tokens)[] =>
  kinds.filter((kind) => line[kind] !== undefined && line[kind] !== ours[kind]);

/**
 * Compares an upstream's own list of requests with what was settled. Kinds of tokens that the list does not have are not
 * compared.
 * @param settlements of the same time and the same models as the list: others are `unknown` to it
 */
export const reconcile = (ledger: Iterable<LedgerLine>, settlements: Iterable<Settlement>): Reconciliation => {
  const theirs = byRequest(ledger);
  const requests = theirs.size;
  const differences: Difference[] = [];
  const seen = new Set<string>();
  let equal = 0;
  for (const ours of settlements) {
    const { request_id } = ours;
    const lines = theirs.get(request_id);
    if (seen.has(request_id)) {
      differences.push({ request_id, kind: 'twice', ours: only(ours, kinds), theirs: {} });
      continue;
    }
    seen.add(request_id);
    if (lines === undefined) {
      const isCharged = kinds.some((kind) => ours[kind] > 0);
      // An upstream that could not be reached has no line, and nothing was charged.
      if (isCharged)
        differences.push({ request_id, kind: kindOf(ours, 'unknown'), ours: only(ours, kinds), theirs: {} });
      continue;
    }
    theirs.delete(request_id);
    const line = summed(lines);
    const differing = differingFrom(line, ours);
    if (differing.length === 0) equal++;
    else {
      const isRepeated = lines.length > 1 && lines.some((each) => differingFrom(each, ours).length === 0);
      const kind = isRepeated ? 'repeated' : kindOf(ours, 'tokens');
      differences.push({ request_id, kind, ours: only(ours, differing), theirs: only(line, differing) });
    }
  }
  for (const [request_id, lines] of theirs) {
    differences.push({ request_id, kind: 'missing', ours: {}, theirs: summed(lines) });
  }
  differences.sort((a, b) => (a.request_id < b.request_id ? -1 : 1));
  return { requests, equal, differences };
};

const kindOf = ({ usage_source }: Settlement, kind: 'unknown' | 'tokens'): Difference['kind'] =>
  usage_source === 'final' ? kind : 'estimated';
