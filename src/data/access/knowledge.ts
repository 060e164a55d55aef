/** Contract K.1. */
export interface Knowledge {
  /** Unknown entries may exist. */
  readonly isBehind: boolean;
  /** Older than the operator allows. */
  readonly isTooOld: boolean;
}
