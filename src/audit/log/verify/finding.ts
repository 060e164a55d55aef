/** What is wrong with a log. */
export type FindingClass =
  /** An event is not the one that was signed. */
  | 'altered'
  /** The first of all events is another. */
  | 'genesis'
  | 'missing'
  /** An event is there that was not signed, between two that were. */
  | 'inserted'
  | 'duplicated'
  | 'reordered'
  /** Events of two streams have each other's place. */
  | 'swapped'
  /** The store was told not to show events of a stream that are in the log. */
  | 'hidden'
  /** The log ends before what a checkpoint from outside has seen. */
  | 'rolled-back'
  /** A checkpoint from outside is of a log that went another way. */
  | 'forked'
  /** A checkpoint is not signed by the key in force. */
  | 'signature'
  /** None of the keys that are known from elsewhere is the log's. */
  | 'key'
  /** A checkpoint’s event is not what was written. */
  | 'checkpoint'
  /** An event that no checkpoint covers yet was not written behind the one before on its stream. */
  | 'chain';

export interface Finding {
  readonly class: FindingClass;
  /** Place in the tree, 0 for the first leaf; of what is not one leaf, the first that it may concern. */
  readonly index: number;
  /** Exclusive; where it may be any of several leaves. */
  readonly to?: number;
  readonly stream?: string;
  readonly revision?: number;
  /** One sentence. */
  readonly says: string;
}

/** In the order of the tree. */
export const sorted = (findings: readonly Finding[]): Finding[] => findings.toSorted((a, b) => a.index - b.index);

/** Of what is said of one and holds of others alike. */
export const andMore = (count: number): string => (count === 0 ? '' : `, and so it is with ${count} more`);
