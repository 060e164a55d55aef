/** Faults for tests: each canary turns a protection off and must see its test fail. Unreachable through `startEmbedded`. */
export interface Faults {
  readonly noSync?: boolean;
  readonly answerBeforeCommit?: boolean;
  readonly skipChecksums?: boolean;
  /** Allow times of events to go back with the clock. */
  readonly trustClock?: boolean;
  readonly forgetIds?: boolean;
  readonly ignoreCommitErrors?: boolean;
  /** Makes the n-th commit (from 1) fail. */
  readonly failCommit?: number;
  readonly commitDelayMs?: number;
  /** Largest number of unused bytes between records, so that nothing relies on adjacent positions. */
  readonly positionGaps?: number;
  /** Breaks the connection of the n-th write (from 1) after its commit, instead of an answer. */
  readonly dropConnection?: number;
  /** Refuses the n-th append (from 1) as being at the wrong revision. */
  readonly wrongVersion?: number;
  readonly forceLag?: boolean;
  readonly loseOnLag?: boolean;
}
