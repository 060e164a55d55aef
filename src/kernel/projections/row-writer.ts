import type { KeptCheckpoint } from '../followers/checkpoint.ts';
import type { DiskSpace } from '../rows/disk-space.ts';
import type { Changes, RowStore, Table } from '../rows/rows.ts';
import type { Projection } from './apply-batch.ts';
import { BulkLoad } from './bulk-load.ts';
import type { WriteBehind } from './write-behind.ts';

interface Writer {
  readonly projection: Projection;
  /** Of one whose rows are written later. */
  readonly held: WriteBehind | undefined;
}

/** What a batch changes of one writer's rows. */
export interface WrittenStep {
  readonly follower: Writer;
  readonly changes: Changes;
  readonly checkpoint: KeptCheckpoint | undefined;
}

/**
 * The rows of followers of the log, as the file has them and as they are held.
 * @param maxGathered rows of one transaction of those that are gathered
 */
export const rowWriter = (
  rows: RowStore<KeptCheckpoint>,
  disk: Pick<DiskSpace, 'write'>,
  writers: readonly Writer[],
  maxGathered?: number,
) => {
  const heldIn = new Map(writers.flatMap(({ projection, held }) => projection.tables.map(({ name }) => [name, held])));
  const gathered = new BulkLoad((changes, marks) => disk.write(() => rows.write(changes, marks)), maxGathered);

  /** What these steps change at once, and what has to be held. @param isHolding whether anything may be held that is not yet */
  const parted = (steps: readonly WrittenStep[], isHolding: boolean) => {
    const changes = new Map<string, Changes extends ReadonlyMap<string, infer Changed> ? Changed : never>();
    const marks = new Map<string, KeptCheckpoint>();
    const later: WrittenStep[] = [];
    for (const step of steps) {
      const { held, projection } = step.follower;
      if (held && !(held.isEmpty && (!isHolding || step.changes.size === 0))) {
        later.push(step);
        continue;
      }
      for (const [table, changed] of step.changes) changes.set(table, changed);
      if (step.checkpoint) marks.set(projection.name, step.checkpoint);
    }
    const hold = (): void => {
      for (const { follower, changes: own, checkpoint } of later) follower.held!.add(own, checkpoint);
    };
    return { changes, marks, hold };
  };

  return {
    get<Row>(from: Table<Row>, key: string): Row | undefined {
      const held = heldIn.get(from.name)?.get(from, key);
      const row = held === undefined ? gathered.get(from, key) : held;
      return row === undefined ? rows.get(from, key) : ((row ?? undefined) as Row | undefined);
    },

    /**
     * Writes in one transaction what these steps change; who holds it gets it to hold.
     * @returns whether it is done
     */
    async write(steps: readonly WrittenStep[]): Promise<boolean> {
      const { changes, marks, hold } = parted(steps, true);
      const isNothing = changes.size === 0 && marks.size === 0;
      if (!isNothing && !(await disk.write(() => rows.write(changes, marks)))) return false;
      hold();
      return true;
    },

    /** The same, but that nothing is held, and `get` alone shows it until there is much of it or `loaded`. */
    async gather(steps: readonly WrittenStep[]): Promise<boolean> {
      const { changes, marks, hold } = parted(steps, false);
      hold();
      return gathered.add(changes, marks);
    },

    /** Resolves once all that was gathered is in the file. @returns whether it is */
    loaded: (): Promise<boolean> => gathered.end(),

    /** Writes what these hold, a slice in a turn of the loop, as long as there is room. @param slices of each, at most */
    async flushWriteBehind(some: readonly Writer[], slices = Number.POSITIVE_INFINITY): Promise<void> {
      for (const { held, projection } of some) {
        for (let n = 0; n < slices && held && !held.isEmpty; n++) {
          const slice = held.next();
          const marks = new Map(slice.checkpoint && [[projection.name, slice.checkpoint]]);
          if (!(await disk.write(() => rows.write(slice.changes, marks)))) return;
          held.written(slice);
        }
      }
    },
  };
};
