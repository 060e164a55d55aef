/**
 * Switches that make the store worse than it is, for tests only: each canary turns one protection off and must
 * then see its test fail. None is reachable through startEmbedded.
 */
export interface Faults {
  /** Commit without fdatasync. */
  readonly noSync?: boolean;
  /** Answer appends before their commit. */
  readonly answerBeforeCommit?: boolean;
  /** Do not compare the checksums of records. */
  readonly skipChecksums?: boolean;
  /** Take the time of an event from the clock as it is, even where it goes back. */
  readonly trustClock?: boolean;
  /** Recognise no repeated append, neither by the ids lately written nor by those on the stream. */
  readonly forgetIds?: boolean;
  /** Go on after a failed commit as if nothing had happened. */
  readonly ignoreCommitErrors?: boolean;
  /** Make the n-th commit (from 1) fail. */
  readonly failCommit?: number;
  /** Wait before each commit, milliseconds. */
  readonly commitDelayMs?: number;
  /** Unused bytes between records, at most this many, so that nothing may rely on positions being adjacent. */
  readonly positionGaps?: number;
  /** Break the connection of the n-th write (from 1) once it is committed, in place of the answer. */
  readonly dropConnection?: number;
  /** Refuse the n-th append (from 1) as being at the wrong version, without looking. */
  readonly wrongVersion?: number;
  /** Send every live batch to every subscriber through the disk. */
  readonly forceLag?: boolean;
  /** Drop what a lagging subscriber missed instead of reading it back. */
  readonly loseOnLag?: boolean;
}
