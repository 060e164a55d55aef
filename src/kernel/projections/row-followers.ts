import { publish } from '../../telemetry.ts';
import { type fitness, isBefore, type KeptCheckpoint, placeOf } from '../followers/checkpoint.ts';
import type { HaltedFollower } from '../followers/halted-follower.ts';
import { markOf, type RowStore, type Table } from '../rows/rows.ts';
import { DamagedRow } from '../rows/sealed-row.ts';
import type { Applied, Projection } from './apply-batch.ts';
import type { WrittenStep } from './row-writer.ts';
import { WriteBehind } from './write-behind.ts';

/** One projection on its way through the log. */
export interface Follower {
  readonly projection: Projection;
  checkpoint: KeptCheckpoint | undefined;
  /** Everything up to here is applied or somebody else's. */
  position: bigint | null;
  stopped: HaltedFollower | undefined;
  readonly held: WriteBehind | undefined;
  /**
   * It does not go with the others: its rows were damaged, and are to be cleared, or have been and are being made again. Until they
   * are there nobody reads them.
   */
  apart: 'damaged' | 'behind' | undefined;
}

/** What a batch does to one follower. */
export interface Step extends WrittenStep {
  readonly follower: Follower;
  readonly failure: Applied['failure'];
  readonly position: bigint | null;
}

/** Where the one is that has come least far; null before the first event. */
export const leastOf = (some: readonly Follower[]): bigint | null =>
  some.reduce<bigint | null>(
    (least, { position }) => (isBefore(position, least) ? position : least),
    some[0]?.position ?? null,
  );

/** @throws Error where two projections declare one table */
export const keeperOf = (followers: readonly Follower[]): ((table: Table<unknown>) => Follower) => {
  const keepers = new Map<string, Follower>();
  for (const follower of followers) {
    for (const { name } of follower.projection.tables) {
      if (keepers.has(name)) throw new Error(`two projections declare the table ${name}`);
      keepers.set(name, follower);
    }
  }
  return ({ name }) => {
    const keeper = keepers.get(name);
    if (!keeper) throw new Error(`no projection declares the table ${name}`);
    return keeper;
  };
};

/** Damage to the name of a table looks as if there never had been one. */
const lostTable = (
  { absent }: RowStore<KeptCheckpoint>,
  { tables, version }: Projection,
  kept: KeptCheckpoint | undefined,
): Error | undefined => {
  const lost = kept?.version === version && tables.find(({ name }) => absent.has(name));
  return lost ? new DamagedRow(`The table ${lost.name} is no longer in the file.`) : undefined;
};

/** The projections at their checkpoints. The rows of one that cannot be gone on with are gone. */
export const begun = async (
  projections: readonly Projection[],
  rows: RowStore<KeptCheckpoint>,
  whyUnfit: ReturnType<typeof fitness>,
): Promise<Follower[]> => {
  if (rows.lost) publish('rows.damaged', { projections: projections.map(({ name }) => name), error: rows.lost });
  const followers: Follower[] = [];
  const unfit = new Map<string, string[]>();
  for (const projection of projections) {
    const { name, version } = projection;
    const { kept, damage = lostTable(rows, projection, kept) } = markOf(rows, name, projection.tables);
    if (damage) publish('rows.damaged', { projections: [name], error: damage });
    const found = damage ? undefined : kept;
    const reason = found && (found.version === version ? await whyUnfit(found) : 'the layout of its rows has changed');
    if (reason !== undefined) unfit.set(reason, [...(unfit.get(reason) ?? []), name]);
    const checkpoint = reason === undefined ? found : undefined;
    if (!checkpoint) rows.clear(name, projection.tables);
    followers.push({
      projection,
      checkpoint,
      position: checkpoint ? placeOf(checkpoint) : null,
      stopped: undefined,
      held: projection.isWrittenBehind && new WriteBehind(),
      apart: damage || checkpoint?.isApart ? 'behind' : undefined,
    });
  }
  for (const [reason, names] of unfit) publish('projection.rebuilt', { reason, projections: names });
  return followers;
};
