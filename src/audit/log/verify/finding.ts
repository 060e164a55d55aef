export type FindingClass =
  /** An event differs from the signed one. */
  | 'altered'
  | 'genesis'
  | 'missing'
  /** An unsigned event between signed ones. */
  | 'inserted'
  | 'duplicated'
  | 'reordered'
  /** Two events have changed places between streams. */
  | 'swapped'
  /** Stream metadata hides events that are in the log. */
  | 'hidden'
  /** The log ends before an outside checkpoint. */
  | 'rolled-back'
  /** An outside checkpoint has other leaves. */
  | 'forked'
  | 'signature'
  | 'key'
  | 'checkpoint'
  /** An uncovered event does not follow the one before on its stream. */
  | 'chain';

export interface Finding {
  readonly class: FindingClass;
  /** Leaf, from 0; for what is not one leaf, the first that is concerned. */
  readonly index: number;
  /** Exclusive, for a range of leaves. */
  readonly to?: number;
  readonly stream?: string;
  readonly revision?: number;
  readonly says: string;
}

export const sorted = (findings: readonly Finding[]): Finding[] => findings.toSorted((a, b) => a.index - b.index);

export const andMore = (count: number): string => (count === 0 ? '' : `, and so it is with ${count} more`);
