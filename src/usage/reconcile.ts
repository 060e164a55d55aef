import type { Settlement } from '../domain/usage/usage-events.ts';
import type { Tokens } from '../tokens.ts';

/** Kinds that are not counted are absent. */
export interface LedgerLine extends Partial<Tokens> {
  readonly request_id: string;
}

/** Between the two lists, by request. */
export interface Difference {
  readonly request_id: string;
  /**
   * `missing`: only the upstream has it. `unknown`: only we charge for it. `tokens`: the counts differ. `twice`:
   * settled more than once. `estimated`: the upstream gave no count, so ours is marked as an estimate. `repeated`: the
   * upstream was asked again after a lost answer.
   */
  readonly kind: 'missing' | 'unknown' | 'tokens' | 'twice' | 'estimated' | 'repeated';
  /** The differing kinds. */
  readonly ours: Partial<Tokens>;
  readonly theirs: Partial<Tokens>;
}

export interface Reconciliation {
  /** In the ledger, and equal in both. */
  readonly requests: number;
  readonly equal: number;
  /** In the order of ids. */
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

/** A repeated request has several lines in the ledger. */
const byRequest = (ledger: Iterable<LedgerLine>): Map<string, LedgerLine[]> => {
  const lines = new Map<string, LedgerLine[]>();
  for (const line of ledger) {
    const same = lines.get(line.request_id);
    if (same) same.push(line);
    else lines.set(line.request_id, [line]);
  }
  return lines;
};

/** Kinds that any of the lines counts. */
const summed = (lines: readonly LedgerLine[]): Partial<Tokens> =>
  Object.fromEntries(
    kinds
      .filter((kind) => lines.some((line) => line[kind] !== undefined))
      .map((kind) => [kind, lines.reduce((sum, line) => sum + (line[kind] ?? 0), 0)]),
  );

const differingFrom = (line: Partial<Tokens>, ours: Tokens): (keyof Tokens)[] =>
  kinds.filter((kind) => line[kind] !== undefined && line[kind] !== ours[kind]);

/** By the kinds that the ledger has. @param settlements of the ledger's period and models */
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
      // An unreachable upstream has no line and no charge.
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
