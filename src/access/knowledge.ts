/** How far what the directory knows may be behind what is (contract K.1). */
export interface Knowledge {
  /** What is not known may be there all the same. */
  readonly isBehind: boolean;
  /** What is known is older than the operator allows anybody to rely on. */
  readonly isTooOld: boolean;
}
