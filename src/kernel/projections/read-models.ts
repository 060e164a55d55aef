import type { Lasts } from '../followers/checkpoint.ts';
import type { HaltedFollower } from '../followers/halted-follower.ts';
import type { Look } from '../rows/row-file.ts';
import type { RowReader, Table } from '../rows/rows.ts';
import type { Ours } from '../store/ownership.ts';
import type { EventStore, Recorded } from '../store/store.ts';
import type { Projection } from './apply-batch.ts';

export interface ReadModels extends RowReader {
  readonly tables: readonly Table<object>[];
  /**
   * Resolves true once everything up to `position` is applied; false after `withinMs`, or when it can no longer come.
   * @param reads the tables that have to show it; default: those of all projections that have not halted
   */
  reached(position: bigint, withinMs: number, reads?: readonly Table<object>[]): Promise<boolean>;
  /** Each of these tables shows everything up to here; null before the first event. */
  positionOf(reads: readonly Table<object>[]): bigint | null;
  /** The same of all projections that have not halted. */
  readonly position: bigint | null;
  /** Resolves once a range of these tables shows all that `get` does. */
  written(reads: readonly Table<object>[]): Promise<void>;
  /**
   * Removes expired rows among the next few.
   * @param now wall time
   * @returns whether it has been round all of them
   */
  sweep(now: number): Promise<boolean>;
  /** Makes the next reads see the latest commit, even in the same turn of the loop. */
  refresh(): void;
  /** The volume is full; the rows stay as they are until there is room. */
  readonly hasNoRoom: boolean;
  readonly stopped: readonly HaltedFollower[];
  /** Projections whose rows are being rebuilt. Reads of their tables throw. */
  readonly absent: readonly string[];
  /** Resolves once all these tables can be read. @throws Error where a projection has halted before that */
  whole(reads: readonly Table<object>[]): Promise<void>;
  /** Rejects when the row files can no longer be written. */
  readonly failed: Promise<never>;
  /** Removes all rows and reads the log from its beginning, because it is another log. */
  rebuild(reason: string): Promise<void>;
  /** Before the end: waits for events or for room are given up. The next start applies the rest. */
  waitNoLonger(): void;
  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** Folder of the LMDB environment; may be deleted while no process has it open. */
  readonly dir: string;
  readonly looked?: Look | undefined;
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly logId: string;
  readonly projections: readonly Projection[];
  readonly ours: Ours;
  readonly lasts?: Lasts;
  /** Called before a batch may become visible, and in the same step as it is known to be. */
  readonly committing?: (batch: readonly Recorded[]) => void;
  readonly committed?: (batch: readonly Recorded[]) => void;
  readonly cleared?: () => void;
  /** Called when rows of these tables are damaged: earlier reads may have been incomplete. */
  readonly damaged?: (tables: readonly Table<object>[]) => void;
  readonly absent?: (projection: string) => Error;
}

export class RowsAbsent extends Error {
  override readonly name = 'RowsAbsent';
  constructor(projection: string) {
    super(`The rows of ${projection} were damaged and are being made again from the log.`);
  }
}
