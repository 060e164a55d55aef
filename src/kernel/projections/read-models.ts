import type { Lasts } from '../followers/checkpoint.ts';
import type { HaltedFollower } from '../followers/halted-follower.ts';
import type { Look } from '../rows/row-file.ts';
import type { RowReader, Table } from '../rows/rows.ts';
import type { Ours } from '../store/ownership.ts';
import type { EventStore, Recorded } from '../store/store.ts';
import type { Projection } from './apply-batch.ts';

export interface ReadModels extends RowReader {
  /** Of all projections. */
  readonly tables: readonly Table<object>[];
  /**
   * Resolves true once everything up to `position` is applied, false when `withinMs` pass before or it cannot come any more.
   * @param reads the tables that have to show it; without them, those of all projections that go on
   */
  reached(position: bigint, withinMs: number, reads?: readonly Table<object>[]): Promise<boolean>;
  /** Everything up to here is shown by each of these tables; null before the first event. */
  positionOf(reads: readonly Table<object>[]): bigint | null;
  /** Everything up to here has been applied, or passed over as somebody else's, by all that go on; null before the first event. */
  readonly position: bigint | null;
  /** Resolves once a range of these tables shows all that `get` does. */
  written(reads: readonly Table<object>[]): Promise<void>;
  /**
   * Looks at some of the rows that do not stay, and removes those that are over.
   * @param now wall time
   * @returns whether it has been round all of them
   */
  sweep(now: number): Promise<boolean>;
  /** Makes the next reads see what is committed by now, also where rows were read earlier in this turn of the loop. */
  refresh(): void;
  /** Nothing can be written to the volume: the rows stay as they are until there is room. */
  readonly hasNoRoom: boolean;
  /**
   * Those that do not go on: an event that cannot be applied, or that the disk has damaged, is never skipped. What they hold
   * is served all the same.
   */
  readonly stopped: readonly HaltedFollower[];
  /** Those whose rows are being made again, since they were damaged or of another log. Reads of their tables throw meanwhile. */
  readonly absent: readonly string[];
  /** Resolves once all these tables can be read. @throws Error where one of them will not be, since its projection has stopped */
  whole(reads: readonly Table<object>[]): Promise<void>;
  /** Rejects when the files of the rows cannot be written any more. */
  readonly failed: Promise<never>;
  /** Forgets all rows and reads the log from its beginning, for it is not the one that they came from. */
  rebuild(reason: string): Promise<void>;
  /** Before the end: from now on nobody waits, for events or for room. What has neither is applied after the next start. */
  waitNoLonger(): void;
  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** Folder of the LMDB environment; may be deleted at any time while nobody has it open. */
  readonly dir: string;
  /** What `lookAhead` has found there. */
  readonly looked?: Look | undefined;
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  /** Identity of the log behind `store`: rows built from another are of no use. */
  readonly logId: string;
  readonly projections: readonly Projection[];
  readonly ours: Ours;
  /** Default: they all do. */
  readonly lasts?: Lasts;
  /** Called before a batch may become visible, and in the step in which we know that it is. In between, others may see it. */
  readonly committing?: (batch: readonly Recorded[]) => void;
  readonly committed?: (batch: readonly Recorded[]) => void;
  /** Called when all rows are gone. */
  readonly cleared?: () => void;
  /** Called when these rows have turned out to be damaged: what was found among them may not be all that there was. */
  readonly damaged?: (tables: readonly Table<object>[]) => void;
  /** What a read throws of rows that are being made again. */
  readonly absent?: (projection: string) => Error;
}

/** The rows that were asked for are being made again from the log. */
export class RowsAbsent extends Error {
  override readonly name = 'RowsAbsent';
  constructor(projection: string) {
    super(`The rows of ${projection} were damaged and are being made again from the log.`);
  }
}
