import type { KeptCheckpoint } from '../followers/checkpoint.ts';
import type { DiskSpace } from '../rows/disk-space.ts';
import type { Changes, RowStore, Table } from '../rows/rows.ts';
import type { Projection } from './apply-batch.ts';
import { BulkLoad } from './bulk-load.ts';
import type { WriteBehind } from './write-behind.ts';

interface Writer {
  readonly projection: Projection;
  readonly writeBehind: WriteBehind | undefined;
}

export interface WrittenStep {
  readonly follower: Writer;
  readonly changes: Changes;
  readonly checkpoint: KeptCheckpoint | undefined;
}

export class RowWriter {
  readonly #rows: RowStore<KeptCheckpoint>;
  readonly #disk: Pick<DiskSpace, 'write'>;
  readonly #buffers: ReadonlyMap<string, WriteBehind | undefined>;
  readonly #bulk: BulkLoad;

  constructor(
    rows: RowStore<KeptCheckpoint>,
    disk: Pick<DiskSpace, 'write'>,
    writers: readonly Writer[],
    maxBulkRows?: number,
  ) {
    this.#rows = rows;
    this.#disk = disk;
    this.#buffers = new Map(
      writers.flatMap(({ projection, writeBehind }) => projection.tables.map(({ name }) => [name, writeBehind])),
    );
    this.#bulk = new BulkLoad((changes, marks) => disk.write(() => rows.write(changes, marks)), maxBulkRows);
  }

  get<Row>(from: Table<Row>, key: string): Row | undefined {
    const buffered = this.#buffers.get(from.name)?.get(from, key);
    const row = buffered === undefined ? this.#bulk.get(from, key) : buffered;
    return row === undefined ? this.#rows.get(from, key) : ((row ?? undefined) as Row | undefined);
  }

  /** Writes these steps in one transaction, except what goes into write-behind buffers. @returns whether it is done */
  async write(steps: readonly WrittenStep[]): Promise<boolean> {
    const buffered = steps.filter(({ follower: { writeBehind }, changes }) => {
      return writeBehind && !(writeBehind.isEmpty && changes.size === 0);
    });
    const { changes, marks } = together(steps.filter((step) => !buffered.includes(step)));
    const isNothing = changes.size === 0 && marks.size === 0;
    if (!isNothing && !(await this.#disk.write(() => this.#rows.write(changes, marks)))) return false;
    for (const step of buffered) step.follower.writeBehind!.add(step.changes, step.checkpoint);
    return true;
  }

  /** Adds these steps to the bulk load, or to a buffer that is not empty. Only `get` shows them until they are written. */
  async load(steps: readonly WrittenStep[]): Promise<boolean> {
    const buffered = steps.filter(({ follower: { writeBehind } }) => writeBehind && !writeBehind.isEmpty);
    for (const step of buffered) step.follower.writeBehind!.add(step.changes, step.checkpoint);
    const { changes, marks } = together(steps.filter((step) => !buffered.includes(step)));
    return this.#bulk.add(changes, marks);
  }

  /** Ends the bulk load. @returns whether it is in the file */
  loaded(): Promise<boolean> {
    return this.#bulk.end();
  }

  /** Writes these buffers slice by slice while there is room. @param slices of each, at most */
  async flushWriteBehind(some: readonly Writer[], slices = Number.POSITIVE_INFINITY): Promise<void> {
    for (const { writeBehind, projection } of some) {
      for (let n = 0; n < slices && writeBehind && !writeBehind.isEmpty; n++) {
        const slice = writeBehind.next();
        const marks = new Map(slice.checkpoint && [[projection.name, slice.checkpoint]]);
        if (!(await this.#disk.write(() => this.#rows.write(slice.changes, marks)))) return;
        writeBehind.written(slice);
      }
    }
  }
}

/** Followers have separate tables, so the steps do not overlap. */
const together = (steps: readonly WrittenStep[]) => ({
  changes: new Map(steps.flatMap(({ changes }) => [...changes])),
  marks: new Map(
    steps.flatMap(({ follower, checkpoint }) => (checkpoint ? [[follower.projection.name, checkpoint] as const] : [])),
  ),
});
