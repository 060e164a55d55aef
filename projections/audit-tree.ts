import { type Anchor, checkpointOf, followed } from '../src/audit/log/checkpoint-event.ts';
import { checkpointStream } from '../src/audit/log/leaf.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { type RowReader, table } from '../src/kernel/rows/rows.ts';
import { type Frontier, grown, noLeaves, rootOfFrontier } from '../src/merkle/frontier.ts';
import type { Hash, HashSource } from '../src/merkle/tree.ts';

export interface AuditTreeHead {
  readonly size: number;
  /** Hashes of the frontier, concatenated. */
  readonly peaks: Buffer;
  readonly revision: number;
  readonly anchor: Anchor | null;
  readonly note: string;
}

/** The leaves of one checkpoint: from `from` to before `size`. */
export interface AuditTreeStep {
  readonly from: number;
  readonly size: number;
}

/** Hashes of up to 256 complete subtrees of a level. Key: `<level>:<number of the tile>`. */
const tiles = table<{ readonly hashes: Buffer }>('audit-tree-tiles');
const heads = table<AuditTreeHead>('audit-tree-head');
/** Key: the position of the checkpoint. */
export const auditTreeSteps = table<AuditTreeStep>('audit-tree-steps');

const headKey = 'head';
const width = 256;
const bytes = 32;

const tileKey = (level: number, tile: number): string => `${level}:${String(tile).padStart(13, '0')}`;
/** Zero-padded, so that keys sort like the numbers. */
const positionKey = (position: bigint): string => String(position).padStart(20, '0');

const pieces = (all: Buffer): Hash[] =>
  Array.from({ length: all.length / bytes }, (_, i) => Buffer.from(all.subarray(i * bytes, (i + 1) * bytes)));

const treeOf = (head: AuditTreeHead | undefined): Frontier =>
  head ? { size: head.size, peaks: pieces(head.peaks) } : noLeaves;

export const auditTreeHead = (models: RowReader): (AuditTreeHead & { readonly tree: Frontier }) | undefined => {
  const head = models.get(heads, headKey);
  return head && { ...head, tree: treeOf(head) };
};

/** The covering checkpoint is usually the first or second one after the event. */
const mostLookedAt = 64;

/** The index of the leaf of an event; undefined if no checkpoint covers it. */
export const auditTreeIndex = (models: RowReader, leaf: string, position: bigint): number | undefined => {
  const wanted = Buffer.from(leaf, 'base64');
  const hashes = auditTreeHashes(models);
  const behind = models.range(auditTreeSteps, { prefix: '', after: positionKey(position), limit: mostLookedAt });
  for (const { row } of behind) {
    for (let index = row.from; index < row.size; index++) if (hashes.at(0, index).equals(wanted)) return index;
  }
  return undefined;
};

export const auditTreeHashes = (models: Pick<RowReader, 'get'>): HashSource => {
  const known = new Map<string, Buffer>();
  return {
    at(level, index) {
      const key = tileKey(level, Math.floor(index / width));
      const tile = known.get(key) ?? models.get(tiles, key)?.hashes;
      const at = (index % width) * bytes;
      if (!tile || tile.length < at + bytes) throw new RangeError(`The tree has no hash ${index} of level ${level}.`);
      known.set(key, tile);
      return tile.subarray(at, at + bytes);
    },
  };
};

/** Appends hashes to a level, and the roots of completed tiles to the level above. */
const add = (rows: Rows, level: number, from: number, hashes: readonly Hash[]): void => {
  const above: Hash[] = [];
  for (let at = from; at < from + hashes.length; ) {
    const number = Math.floor(at / width);
    const count = Math.min(width - (at % width), from + hashes.length - at);
    const old = at % width === 0 ? undefined : rows.get(tiles, tileKey(level, number))?.hashes;
    const tile = Buffer.concat([...(old ? [old] : []), ...hashes.slice(at - from, at - from + count)]);
    rows.put(tiles, tileKey(level, number), { hashes: tile });
    if (tile.length === width * bytes) above.push(rootOfFrontier(grown(noLeaves, pieces(tile))));
    at += count;
  }
  if (above.length > 0) add(rows, level + 1, Math.floor(from / width), above);
};

/** The Merkle tree of the audit log. Checkpoints that do not follow are skipped; readers with the keys verify signatures. */
export const auditTree: Projection = {
  name: 'audit-tree',
  version: 1,
  categories: ['auditLog'],
  tables: [tiles, heads, auditTreeSteps],
  apply(event, rows) {
    if (event.stream !== checkpointStream) return;
    const { revision } = event;
    const said = checkpointOf(event);
    const tree = said && followed(treeOf(rows.get(heads, headKey)), said);
    if (!tree) return;
    const { from, hashes, anchor, checkpoint } = said;
    add(rows, 0, from, hashes);
    rows.put(auditTreeSteps, positionKey(event.position), { from, size: tree.size });
    const head = { size: tree.size, peaks: Buffer.concat(tree.peaks), revision, anchor, note: checkpoint.signed };
    rows.put(heads, headKey, head);
  },
};
