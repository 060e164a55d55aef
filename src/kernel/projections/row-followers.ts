import { publish } from '../../telemetry.ts';
import { type fitness, isBefore, type KeptCheckpoint, placeOf } from '../followers/checkpoint.ts';
import { type HaltedFollower, reportHalted } from '../followers/halted-follower.ts';
import { resumePoints } from '../followers/resume.ts';
import { markOf, type RowStore, type Table } from '../rows/rows.ts';
import { DamagedRow } from '../rows/sealed-row.ts';
import type { Recorded } from '../store/store.ts';
import type { Projection } from './apply-batch.ts';
import { HiddenRows } from './hidden-rows.ts';
import { rowWaiters } from './row-waiters.ts';
import { WriteBehind } from './write-behind.ts';

export interface Follower {
  readonly projection: Projection;
  checkpoint: KeptCheckpoint | undefined;
  /** Everything up to here is applied or foreign. */
  position: bigint | null;
  halted: HaltedFollower | undefined;
  readonly writeBehind: WriteBehind | undefined;
  /** Damaged rows wait to be cleared, or are being rebuilt. Reads throw meanwhile. */
  repair: 'damaged' | 'rebuilding' | undefined;
}

export const leastOf = (some: readonly Follower[]): bigint | null =>
  some.reduce<bigint | null>(
    (least, { position }) => (isBefore(position, least) ? position : least),
    some[0]?.position ?? null,
  );

export class RowFollowers {
  readonly all: readonly Follower[];
  readonly of: (table: Table<unknown>) => Follower;
  readonly hidden: HiddenRows;
  readonly waiters = rowWaiters(() => this.active);
  /** Callers use the rows. Damage before that fails the open. */
  isOpen = false;
  readonly #rows: RowStore<KeptCheckpoint>;

  /** @throws Error where two projections declare one table */
  constructor(all: readonly Follower[], rows: RowStore<KeptCheckpoint>, absent: (projection: string) => Error) {
    this.all = all;
    this.of = followerOfTable(all);
    this.hidden = new HiddenRows(this.of, absent);
    this.#rows = rows;
    // With all to be rebuilt, there are no others to do it beside.
    const isAll = all.every(({ repair }) => repair);
    for (const follower of all) {
      if (isAll) follower.repair = undefined;
      else if (follower.repair) this.hidden.hide(follower);
    }
  }

  get active(): Follower[] {
    return this.all.filter(({ halted, repair }) => !halted && !repair);
  }

  halt(follower: Follower, error: Error, at?: Recorded): void {
    follower.halted = reportHalted({ follower: follower.projection.name, ...(at && { at }), error });
    this.hidden.look();
    this.waiters.look();
  }

  clear(follower: Follower): void {
    follower.writeBehind?.clear();
    this.#rows.clear(follower.projection.name, follower.projection.tables);
    follower.checkpoint = undefined;
    follower.position = null;
    follower.halted = undefined;
  }
}

const followerOfTable = (all: readonly Follower[]): ((table: Table<unknown>) => Follower) => {
  const byTable = new Map<string, Follower>();
  for (const follower of all) {
    for (const { name } of follower.projection.tables) {
      if (byTable.has(name)) throw new Error(`two projections declare the table ${name}`);
      byTable.set(name, follower);
    }
  }
  return ({ name }) => {
    const follower = byTable.get(name);
    if (!follower) throw new Error(`no projection declares the table ${name}`);
    return follower;
  };
};

/** A table whose name is damaged seems never to have existed. */
const lostTable = (
  { absent }: RowStore<KeptCheckpoint>,
  { tables, version }: Projection,
  kept: KeptCheckpoint | undefined,
): Error | undefined => {
  const lost = kept?.version === version && tables.find(({ name }) => absent.has(name));
  return lost ? new DamagedRow(`The table ${lost.name} is no longer in the file.`) : undefined;
};

/** The projections at their checkpoints; clears the rows of those that begin again. */
export const resumedFollowers = async (
  projections: readonly Projection[],
  rows: RowStore<KeptCheckpoint>,
  whyUnfit: ReturnType<typeof fitness>,
): Promise<Follower[]> => {
  if (rows.lost) publish('rows.damaged', { projections: projections.map(({ name }) => name), error: rows.lost });
  const points = await resumePoints(projections, {
    read(projection) {
      const { kept, damage = lostTable(rows, projection, kept) } = markOf(rows, projection.name, projection.tables);
      if (damage) publish('rows.damaged', { projections: [projection.name], error: damage });
      return { kept, damage };
    },
    whyUnfit,
    changed: 'the layout of its rows has changed',
    beginAgain: (reason, names) => publish('projection.rebuilt', { reason, projections: names }),
  });
  return points.map(({ of: projection, checkpoint, damage }) => {
    if (!checkpoint) rows.clear(projection.name, projection.tables);
    return {
      projection,
      checkpoint,
      position: checkpoint ? placeOf(checkpoint) : null,
      halted: undefined,
      writeBehind: projection.isWrittenBehind && new WriteBehind(),
      repair: damage || checkpoint?.isApart ? 'rebuilding' : undefined,
    };
  });
};
